package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"flashsale/internal/testkit"
)

var replies = []struct {
	name, text string
	status     int
	body       string
	closes     bool
	err        error
}{
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false, nil},
	{"names in any case", "HTTP/1.1 403 Forbidden\r\ncontent-LENGTH:2\r\nX: y\r\n\r\n{}", 403,
		"{}", false, nil},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", false, nil},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", false, nil},
	{"close", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx", 200, "x", true, nil},
	{"until the end", "HTTP/1.1 200 OK\r\n\r\nall of it", 200, "all of it", true, nil},
	{"old version", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", true, nil},
	{"old version kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", 200,
		"x", false, nil},
	{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n, " +
		"world...\r\n0\r\nTrailer: x\r\n\r\n",
		200, "hello, world...", false, nil},
	{"nothing", "", 0, "", false, io.EOF},
	{"cut head", "HTTP/1.1 200 OK\r\nContent", 0, "", false, io.ErrUnexpectedEOF},
	{"cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 0, "", false, io.ErrUnexpectedEOF},
	{"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", 0, "", false,
		io.ErrUnexpectedEOF},
	{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, "", false, errMalformed},
	{"interim", "HTTP/1.1 100 Continue\r\n\r\n", 0, "", false, errMalformed},
	{"header without colon", "HTTP/1.1 200 OK\r\nwhat\r\n\r\n", 0, "", false, errMalformed},
	{"bare line feed", "HTTP/1.1 200 \n\r\n\r\nx", 0, "", false, errMalformed},
	{"chunks in an old version", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, "",
		false, errMalformed},
	{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0, "", false, errMalformed},
	{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 0, "", false,
		errMalformed},
	{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nx", 0, "", false, errMalformed},
	{"other coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", 0, "", false, errMalformed},
	{"chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\nx\r\n0\r\n\r\n", 0, "", false,
		errMalformed},
	{"huge chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", 0, "",
		false, errMalformed},
	{"chunk too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n", 0, "",
		false, errMalformed},
	{"more than asked for", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP", 0, "", false, errMalformed},
	{"endless head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", replyHeadMax), 0, "", false,
		errMalformed},
}

func TestReplyReader(t *testing.T) {
	for _, test := range replies {
		t.Run(test.name, func(t *testing.T) {
			var r replyReader
			for range 2 { // the second one finds the buffer of the first
				rep, err := r.read(strings.NewReader(test.text))
				if !errors.Is(err, test.err) || rep.status != test.status || string(rep.body) != test.body ||
					rep.closes != test.closes {
					t.Errorf("got %d %q closes %t, %v", rep.status, rep.body, rep.closes, err)
				}
			}
		})
	}
}

func TestReplyReaderAllocatesNothing(t *testing.T) {
	text := []byte("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2015 00:00:00 GMT\r\nContent-Type: " +
		"application/json\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello")
	var r replyReader
	src := bytes.NewReader(text)
	allocs := testing.AllocsPerRun(100, func() {
		src.Reset(text)
		if _, err := r.read(src); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per reply", allocs)
	}
}

// FuzzReply compares the reader with net/http: what both accept they read alike, and in which pieces the
// bytes come does not matter.
func FuzzReply(f *testing.F) {
	for _, seed := range replies {
		f.Add([]byte(seed.text))
	}
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole, bytewise replyReader
		rep, err := whole.read(bytes.NewReader(text))
		again, againErr := bytewise.read(iotest.OneByteReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		if againErr != nil || again.status != rep.status || again.closes != rep.closes ||
			!bytes.Equal(again.body, rep.body) {
			t.Fatalf("at once %+v, byte by byte %+v, %v", rep, again, againErr)
		}
		want, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			return
		}
		body, err := io.ReadAll(want.Body)
		if err == nil && (want.StatusCode != rep.status || !bytes.Equal(body, rep.body)) {
			t.Fatalf("read %d %q, net/http %d %q", rep.status, rep.body, want.StatusCode, body)
		}
	})
}
