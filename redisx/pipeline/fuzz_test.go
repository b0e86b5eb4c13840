package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"flashsale/internal/testkit"
)

// FuzzReadNumber holds readNumber against radix: what radix reads as a number it reads alike, what it
// takes for an error reply is one, and it leaves what follows on the connection. In which pieces the
// bytes come does not matter. (A list of less than no elements is none for radix; here its number says
// that it is not what was due.)
func FuzzReadNumber(f *testing.F) {
	for _, text := range []string{
		":0\r\n", ":-1\r\n:2\r\n", "*3\r\n:0\r\n", "-NOSCRIPT no\r\n", "-\r\n", ":\r\n",
		":9223372036854775808\r\n",
		":+1\r\n", ":1\n", "$1\r\n1\r\n", ":1", "", ":1\r\r\n", "_\r\n", ":01\r\n", "!3\r\nERR\r\n"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	for _, seed := range testkit.Seeds(f, f.Name()) {
		f.Add([]byte(seed[0]), seed[1] == "true")
	}
	f.Fuzz(func(t *testing.T, text []byte, list bool) {
		kind := byte(':')
		if list {
			kind = '*'
		}
		br := bufio.NewReader(bytes.NewReader(text))
		n, refused, broken := readNumber(br, kind)
		slow := bufio.NewReader(iotest.OneByteReader(bytes.NewReader(text)))
		again, againRefused, againBroken := readNumber(slow, kind)
		if n != again || (refused == nil) != (againRefused == nil) || (broken == nil) != (againBroken == nil) {
			t.Errorf("%q: %d, %v, %v at once; %d, %v, %v byte by byte",
				text, n, refused, broken, again, againRefused, againBroken)
		}
		if broken == nil {
			rest, _ := io.ReadAll(br)
			line, want, _ := bytes.Cut(text, []byte("\n"))
			if !bytes.Equal(rest, want) {
				t.Errorf("%q: %q is left, want %q", text, rest, want)
			}
			isError := line[0] == '-'
			if (refused != nil) != isError || isError && !errors.Is(refused, ErrUnavailable) {
				t.Errorf("%q: refused with %v", text, refused)
			}
		}
		want, ok := radixNumber(text, kind)
		if ok && !(list && n < 0) && (n != want || refused != nil || broken != nil) {
			t.Errorf("%q: %d, %v, %v; radix reads %d", text, n, refused, broken, want)
		}
	})
}

// digitsMax is how many digits in a row radix is given: it takes any length it reads for true and
// allocates as much, and it wraps numbers of more than 63 bits around.
const digitsMax = 6

func hasLongNumber(text []byte) bool {
	digits := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			digits = 0
		} else if digits++; digits > digitsMax {
			return true
		}
	}
	return false
}

// radixNumber is what radix reads behind ':' or '*', if it reads a number there.
func radixNumber(text []byte, kind byte) (n int64, ok bool) {
	if len(text) == 0 || text[0] != kind || hasLongNumber(text) {
		return 0, false
	}
	br, o := bufio.NewReader(bytes.NewReader(text)), resp.NewOpts()
	if kind == '*' {
		var head resp3.ArrayHeader
		err := head.UnmarshalRESP(br, o)
		return int64(head.NumElems), err == nil && !head.StreamedArrayHeader
	}
	var number resp3.Number
	err := number.UnmarshalRESP(br, o)
	return number.N, err == nil
}

// FuzzCommand encodes a command with any texts as its arguments and reads it back with radix: nothing in
// an argument, such as an idempotency key, can end it or begin another command.
func FuzzCommand(f *testing.F) {
	f.Add("GET", "k", "")
	f.Add("SET", "a\r\n$1\r\nb", "*1\r\n$8\r\nFLUSHALL\r\n")
	f.Add("", "\x00\xff", "键")
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		x := Command(nil, a, b, c).Command(nil, c)
		defer x.Free()
		br := bufio.NewReader(bytes.NewReader(x.args))
		for _, want := range [][]string{{a, b, c}, {c}} {
			var got []string
			if err := resp3.Unmarshal(br, &got, resp.NewOpts()); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%q is read as %q, %v", want, got, err)
			}
		}
		if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%q, %q, %q: bytes behind the last command", a, b, c)
		}
	})
}
