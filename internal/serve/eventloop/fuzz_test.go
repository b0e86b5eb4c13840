package eventloop

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
)

// FuzzConn sends any bytes in pieces of any length. Each whole request has one reply, in order, whichever
// way its handler answers, and the connection ends where it must.
func FuzzConn(f *testing.F) {
	for i, c := range conversations {
		f.Add([]byte(c.sent), uint8(i), uint16(7*i+1))
	}
	for i, text := range []string{
		"", "\r\n", "G", get("/sync") + get("/later") + get("/away"),
		"HEAD /away HTTP/1.1\r\nHost: h\r\n\r\nHEAD /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" +
			get("/now"),
		"POST /later HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody" + get("/x"),
		"POST /away HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody" + get("/x"),
		get("/later") + "G", get("/away") + "G", "HEAD / HTTP/1.1\r\n\r\n",
		strings.Repeat(get("/n"), 300) + get("/away") + strings.Repeat(get("/later"), 5),
	} {
		f.Add([]byte(text), uint8(i), uint16(50*i))
	}
	s := open(f, listener.Config{})
	go func() {
		for x := range s.held {
			s.loop.Post(func() {
				answer(x)
				x.Finish()
			})
		}
	}()
	f.Fuzz(func(t *testing.T, text []byte, first uint8, piece uint16) {
		if len(text) > 16<<10 {
			return // it takes long and shows nothing more
		}
		methods, want := expected(text)
		s.TB = t
		c := s.dial()
		defer c.Close()
		go func() { // the server may end the connection before it has taken all
			c.Write(text[:min(int(first), len(text))])
			for rest := text[min(int(first), len(text)):]; len(rest) > 0; {
				n := min(int(piece)+1, len(rest))
				c.Write(rest[:n])
				rest = rest[n:]
			}
			c.CloseWrite()
		}()
		for i := range want {
			got, err := c.read(methods[i])
			for err == nil && got.status == http.StatusContinue {
				got, err = c.read(methods[i])
			}
			if err != nil || got != want[i] {
				t.Fatalf("%q: reply %d of %d: %+v, %v; want %+v", text, i, len(want), got, err, want[i])
			}
		}
		_, err := c.replies.Peek(1)
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("%q: behind %d replies come %d bytes, %v", text, len(want), c.replies.Buffered(), err)
		}
	})
}

// expected returns the replies to the bytes of a connection that its client ends, with the methods of their
// requests. It reads them as the loop does, but has all of them at once.
func expected(text []byte) (methods []string, replies []reply) {
	text = bytes.Clone(text)
	var p parser
	p.init(limits.Longest())
	for len(text) > 0 {
		var r framing.Request
		v := r.Scan(text, &limits)
		if v == framing.Continue {
			v = r.Scan(text, &limits)
		}
		if v == framing.More { // it is cut
			if len(bytes.Trim(text, "\r\n")) == 0 {
				break
			}
			v = framing.BadRequest
		}
		if v != framing.Whole {
			return append(methods, method(r.IsHead)), append(replies, withoutBody(r.IsHead, refused(v)))
		}
		text = r.Settle(text)
		var request fasthttp.Request
		if !p.read(&request, text[:r.Size()]) {
			return append(methods, method(request.Header.IsHead())),
				append(replies, withoutBody(request.Header.IsHead(), reply{http.StatusBadRequest, malformed, true}))
		}
		got := expectedOf(&request)
		got.close = got.close || r.Close
		methods, replies = append(methods, method(r.IsHead)), append(replies, withoutBody(r.IsHead, got))
		if got.close {
			break
		}
		text = text[r.Size():]
	}
	return methods, replies
}

// expectedOf returns the reply of answer.
func expectedOf(r *fasthttp.Request) reply {
	x := &Exchange{}
	r.CopyTo(&x.Request)
	answer(x)
	away := kind(x.Path()) == "away"
	if away { // the other server only echoes
		return reply{http.StatusOK, echo(r), r.Header.ConnectionClose()}
	}
	if string(x.Path()) == "/raw" {
		return reply{http.StatusOK, string(rawBody), r.Header.ConnectionClose()}
	}
	closes := r.Header.ConnectionClose() || x.Response.ConnectionClose()
	return reply{http.StatusOK, string(x.Response.Body()), closes}
}

func method(isHead bool) string {
	if isHead {
		return http.MethodHead
	}
	return http.MethodGet
}

func withoutBody(isHead bool, r reply) reply {
	if isHead {
		r.body = ""
	}
	return r
}
