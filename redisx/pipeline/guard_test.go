package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"flashsale/internal/testkit"
)

// guarded is a reader behind a guard, as a guardedConn is.
type guarded struct {
	io.Reader
	guard *replyGuard
}

func (r guarded) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if fault := r.guard.check(b[:n]); fault != nil {
		return 0, fault
	}
	return n, err
}

// repeat is a reader of the text n times.
func repeat(text string, n int) io.Reader { return &repeated{text: text, left: n * len(text)} }

type repeated struct {
	text string
	left int
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	begin := (len(r.text) - r.left%len(r.text)) % len(r.text)
	n := copy(b[:min(len(b), r.left)], r.text[begin:])
	r.left -= n
	return n, nil
}

// evilReplies are what no Redis sends, with the words in which each is refused.
var evilReplies = []struct {
	name, want string
	reply      func() io.Reader
}{
	{"bulk of a terabyte", "a string of 999999999999, more than 1048576 (replyStringMax)",
		text("$999999999999\r\n")},
	{"bulk of more than 64 bits", "a string of 99999999999999999999, more than 1048576 (replyStringMax)",
		text("$99999999999999999999\r\n")},
	{"bulk of less than nothing", `a string of the length "-2"`, text("$-2\r\n")},
	{"bulk of far less", `a string of the length "-99999999999999999999"`, text("$-99999999999999999999\r\n")},
	{"bulk of no number", `a string of the length "1x"`, text("$1x\r\n")},
	{"bulk of no length", `a string of the length ""`, text("$\r\n")},
	{"bulk that is streamed", `a string of the length "?"`, text("$?\r\n;4\r\nabcd\r\n;0\r\n")},
	{"bulk without its end", "a string is longer than it was said to be", text("$1\r\nab\r\n")},
	{"status of 50 MB", "a line of more than 16384 bytes (replyLineMax)", func() io.Reader {
		return io.MultiReader(strings.NewReader("+"), repeat("x", 50<<20))
	}},
	{"error of 50 MB", "a line of more than 16384 bytes (replyLineMax)", func() io.Reader {
		return io.MultiReader(strings.NewReader("-ERR "), repeat("x", 50<<20))
	}},
	{"length of 50 MB", "a line of more than 16384 bytes (replyLineMax)", func() io.Reader {
		return io.MultiReader(strings.NewReader("$"), repeat("0", 50<<20))
	}},
	{"list of a terabyte", "a list of 999999999999, more than 65536 (replyElementsMax)",
		text("*999999999999\r\n")},
	{"list of less than nothing", `a list of the length "-5"`, text("*-5\r\n")},
	{"lists that claim much together", "a reply of more than 65536 elements (replyElementsMax)",
		text("*60000\r\n*60000\r\n")},
	{"lists without end", "more than 8 lists inside each other (replyDepthMax)",
		func() io.Reader { return repeat("*1\r\n", 1<<20) }},
	{"many strings", "a reply of more than 8388608 bytes (replyBytesMax)", func() io.Reader {
		megabyte := "$1000000\r\n" + strings.Repeat("x", 1_000_000) + "\r\n"
		return io.MultiReader(strings.NewReader("*60000\r\n"), repeat(megabyte, 60))
	}},
	{"map", `the line "%60000000\r\n"`, text("%60000000\r\n")},
	{"verbatim string", `the line "=999999999999\r\n"`, text("=999999999999\r\n")},
	{"set", `the line "~60000000\r\n"`, text("~60000000\r\n")},
	{"blob error", `the line "!999999999999\r\n"`, text("!999999999999\r\n")},
	{"HTTP", `the line "HTTP/1.1 400 Bad Request\r\n"`, text("HTTP/1.1 400 Bad Request\r\n\r\n")},
	{"bare line feed", `the line "+OK\n"`, text("+OK\n")},
	{"empty line", `the line "\r\n"`, text("\r\n")},
}

func text(reply string) func() io.Reader { return func() io.Reader { return strings.NewReader(reply) } }

// spentMax is what an evil reply may cost: the buffers of a connection and what the limits allow.
const spentMax = 2*replyBytesMax + 8<<20

// allocated returns the bytes that f allocates, with all that runs meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// No evil reply gets through to radix, or costs more than the limits allow.
func TestEvilReplies(t *testing.T) {
	for _, tc := range evilReplies {
		t.Run(tc.name, func(t *testing.T) {
			replies := bufio.NewReaderSize(guarded{tc.reply(), newReplyGuard(0)}, bufferBytes)
			var got any
			var err error
			spent := allocated(func() { err = resp3.Unmarshal(replies, &got, resp.NewOpts()) })
			want := errBadReply.Error() + ": " + tc.want
			if !errors.Is(err, errBadReply) || err.Error() != want || got != nil {
				t.Errorf("got %v, error %v\nwant  %s", got, err, want)
			}
			if spent > spentMax {
				t.Errorf("%d KB were allocated for it", spent>>10)
			}
		})
	}
}

// Replies at the limits are read.
func TestLargestReplies(t *testing.T) {
	list := func(n int) string { return fmt.Sprintf("*%d\r\n", n) + strings.Repeat("$1\r\nx\r\n", n) }
	longest := fmt.Sprintf("$%d\r\n%s\r\n", replyStringMax, strings.Repeat("x", replyStringMax))
	for name, tc := range map[string]struct {
		foods int
		reply string
	}{
		"string": {0, longest},
		"line":   {0, "+" + strings.Repeat("x", replyLineMax-3) + "\r\n"},
		"list":   {0, list(replyElementsMax)},
		"depth":  {0, strings.Repeat("*1\r\n", replyDepthMax) + ":1\r\n"},
		"stock of a million foods": {1_000_000, "*2000002\r\n" +
			strings.Repeat("$7\r\n1000000\r\n$16\r\n1000000000000000\r\n", 1_000_001)},
		"nothing":            {0, "$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n"},
		"one after another":  {0, strings.Repeat(list(replyElementsMax), 3)},
		"strings in a row":   {0, strings.Repeat(longest, 20)},
		"an entry's fields":  {0, "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"},
		"an error in a list": {0, "*2\r\n-ERR no\r\n:1\r\n"},
	} {
		replies := guarded{strings.NewReader(tc.reply), newReplyGuard(tc.foods)}
		if _, err := io.Copy(io.Discard, replies); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReplyGuard gives the guard any bytes. Its verdict does not depend on the pieces in which they come,
// and what it lets through radix reads into whatever it is given, without a panic.
func FuzzReplyGuard(f *testing.F) {
	for _, tc := range evilReplies {
		seed, err := io.ReadAll(io.LimitReader(tc.reply(), 64))
		testkit.Must(f, err)
		f.Add(seed)
	}
	f.Add([]byte("*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n*-1\r\n+\r\n"))
	f.Add([]byte("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"))
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, replies []byte) {
		_, whole := io.Copy(io.Discard, guarded{bytes.NewReader(replies), newReplyGuard(1)})
		_, pieces := io.Copy(io.Discard, guarded{iotest.OneByteReader(bytes.NewReader(replies)), newReplyGuard(1)})
		if fmt.Sprint(whole) != fmt.Sprint(pieces) {
			t.Errorf("%q: %v at once, %v byte by byte", replies, whole, pieces)
		}
		for _, receiver := range []any{
			new(string), new([]byte), new(int), new(any), new([]string), new(map[string]string),
			new([]radix.StreamEntries), &radix.Tuple{new(int64), new(string)}, &radix.Maybe{Rcv: new(string)}, nil,
		} {
			br := bufio.NewReaderSize(guarded{bytes.NewReader(replies), newReplyGuard(1)}, bufferBytes)
			for err := error(nil); err == nil; {
				err = resp3.Unmarshal(br, receiver, resp.NewOpts())
			}
		}
	})
}
