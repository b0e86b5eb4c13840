package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/framing"
)

// What RFC 9112 allows in the lines of a head, and nothing that only may be tolerated.
var (
	strictLines = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\u0080-\u00ff]*\r\n)*" +
		"(\r\n)?$")
	framingHeader = regexp.MustCompile("(?im)^(content-length|transfer-encoding):")
)

// Where one request ends and the next begins must have one answer: what passes has strict lines and one
// header at most that frames the body, fasthttp takes all of it for one request, and if net/http reads it
// too, the body and the bytes of the next request are the same.
func FuzzHead(f *testing.F) {
	for _, h := range heads {
		if len(h.request) < 1000 {
			f.Add([]byte(h.request + probe))
		}
	}
	s, _ := closedShop(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > s.sizes.Longest() {
			return
		}
		c := &framedConn{server: s, received: requests.With(text), filled: len(text)}
		if c.request.Scan(text, &s.sizes) != framing.Whole {
			return
		}
		size := c.request.Size()
		c.hand()
		ours := bufio.NewReaderSize(c, headBytesMax)
		var request fasthttp.Request
		if err := request.ReadLimitBody(ours, longestBodyMax); err != nil {
			return // refused after all
		}
		if left := ours.Buffered() + c.end - c.read; left > 0 {
			t.Errorf("%q: fasthttp leaves %d bytes of the request", text, left)
		}
		if request.MayContinue() {
			t.Errorf("%q: fasthttp will ask for the body", text)
		}
		// Bytes as characters of their own: a regexp reads UTF-8.
		lines := latin1(request.Header.RawHeaders())
		if !strictLines.MatchString(lines) || len(framingHeader.FindAllString(lines, 2)) > 1 {
			t.Errorf("%q passes", lines)
		}
		theirs := bufio.NewReader(bytes.NewReader(text))
		other, err := http.ReadRequest(theirs)
		if err != nil {
			return
		}
		body, err := io.ReadAll(other.Body)
		if err != nil {
			return
		}
		method, target := string(request.Header.Method()), string(request.Header.RequestURI())
		if method != other.Method || target != other.RequestURI {
			t.Errorf("%q: %s %s; net/http has %s %s", text, method, target, other.Method, other.RequestURI)
		}
		if !bytes.Equal(request.Body(), body) {
			t.Errorf("%q: body %q; net/http has %q", text, request.Body(), body)
		}
		if rest, theirRest := string(text[size:]), remainder(t, theirs); rest != theirRest {
			t.Errorf("%q: the next request is %q; net/http has %q", text, rest, theirRest)
		}
	})
}

func latin1(text []byte) string {
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}

func remainder(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	rest, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return string(rest)
}
