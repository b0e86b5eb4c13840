package framing

import (
	"bufio"
	"bytes"
	"flashsale/internal/testkit"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// What RFC 9112 allows in the lines of a head, and nothing that only may be tolerated.
var (
	strictLines = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\u0080-\u00ff]*\r\n)*" +
		"(\r\n)?$")
	framingHeader = regexp.MustCompile("(?im)^(content-length|transfer-encoding):")
)

// FuzzScan gives any bytes as what comes on a connection. In pieces they have the verdict that they have in
// one, no more of them are waited for than the limits allow, and what is accepted is a request with the
// same body and the same end for net/http. Once it is settled, fasthttp takes all of it for one request.
func FuzzScan(f *testing.F) {
	for _, c := range cases {
		if len(c.text) < 1000 {
			f.Add([]byte(strings.Replace(c.text, "|", "", 1)), uint8(7), false)
		}
	}
	f.Add([]byte("0 / HTTP/1.0\r\n00:0\x1f000000"), uint8(7), false)
	narrow := Limits{Head: 60, URL: 8, Headers: 3, Body: 5, LongestBody: 20, BodyOf: limits.BodyOf}
	f.Fuzz(func(t *testing.T, text []byte, piece uint8, tight bool) {
		limits := &limits
		if tight {
			limits = &narrow
		}
		r, v := scan(t, string(text), len(text)+1, limits)
		inPieces, other := scan(t, string(text), int(piece)+1, limits)
		if v != other || v == Whole && *r != *inPieces {
			t.Fatalf("%q: %v %+v; in pieces of %d bytes %v %+v", text, v, r, piece+1, other, inPieces)
		}
		switch {
		case v == More && len(text) >= limits.Longest():
			t.Errorf("%q: more than %d bytes are waited for", text, len(text))
		case v == Whole && (r.Size() > len(text) || r.Size() > limits.Longest()):
			t.Errorf("%q: a request of %d bytes", text, r.Size())
		case v == Whole:
			compare(t, text, r)
			handOn(t, text, r)
		}
	})
}

// compare holds an accepted request against what net/http reads.
func compare(t *testing.T, text []byte, r *Request) {
	t.Helper()
	begin := len(text) - len(bytes.TrimLeft(text, "\r\n")) // net/http takes no empty line before a request
	theirs := bufio.NewReader(bytes.NewReader(text[begin:]))
	request, err := http.ReadRequest(theirs)
	if err != nil {
		t.Fatalf("%q: net/http refuses it: %v", text, err)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		t.Fatalf("%q: net/http cannot read the body: %v", text, err)
	}
	if !r.chunked && !bytes.Equal(body, text[r.head:r.Size()]) {
		t.Errorf("%q: body %q; net/http has %q", text, text[r.head:r.Size()], body)
	}
	next, err := io.ReadAll(theirs)
	testkit.Must(t, err)
	if !bytes.Equal(next, text[r.Size():]) {
		t.Errorf("%q: the next request is %q; net/http has %q", text, text[r.Size():], next)
	}
	if request.Close && !r.Close {
		t.Errorf("%q: the connection stays; net/http closes it", text)
	}
}

// handOn has fasthttp read an accepted request, as both engines do.
func handOn(t *testing.T, text []byte, r *Request) {
	t.Helper()
	settled := r.Settle(bytes.Clone(text))[:r.Size()]
	reader := bufio.NewReaderSize(bytes.NewReader(settled), len(settled)+1)
	var request fasthttp.Request
	if err := request.Header.Read(reader); err != nil {
		return // it is refused after all
	}
	if request.MayContinue() {
		t.Errorf("%q: fasthttp will ask for the body", text)
	}
	if err := request.ContinueReadBody(reader, len(settled), false); err != nil {
		return
	}
	if left := reader.Buffered(); left > 0 {
		t.Errorf("%q: fasthttp leaves %d bytes of the request", text, left)
	}
	var lines strings.Builder // bytes as characters of their own: a regexp reads UTF-8
	for _, b := range request.Header.RawHeaders() {
		lines.WriteRune(rune(b))
	}
	if !strictLines.MatchString(lines.String()) || len(framingHeader.FindAllString(lines.String(), 2)) > 1 {
		t.Errorf("%q passes", lines.String())
	}
}
