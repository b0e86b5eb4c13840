package framing

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzScan gives any bytes as what comes on a connection. In pieces they have the verdict that they have in
// one, no more of them are waited for than the limits allow, and what is accepted is a request with the
// same body and the same end for net/http.
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
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(next, text[r.Size():]) {
		t.Errorf("%q: the next request is %q; net/http has %q", text, text[r.Size():], next)
	}
	if request.Close && !r.Close {
		t.Errorf("%q: the connection stays; net/http closes it", text)
	}
}
