package framing

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

var limits = Limits{Head: 8 << 10, URL: 1 << 10, Headers: 100, Body: 1 << 10, LongestBody: 4 << 10,
	BodyOf: func(method, target []byte) int {
		switch string(method) + " " + string(target) {
		case "POST /":
			return 4 << 10
		case "POST /longer":
			return 5 << 10
		}
		return 0
	}}

const (
	get     = "GET / HTTP/1.1\r\nHost: h\r\n"
	post    = "POST / HTTP/1.1\r\nHost: h\r\n"
	chunked = post + "Transfer-Encoding: chunked\r\n\r\n"
)

func (v Verdict) String() string {
	return [...]string{
		"More", "Continue", "Whole", "BadRequest", "BodyTooLarge", "URLTooLong", "HeadTooLarge", "NoRoom",
		"advance",
	}[v]
}

// cases are requests with their verdicts. One that is whole ends with its text; a | stands where it ends
// before.
var cases = []struct {
	text string
	want Verdict
}{
	// Whole.
	{get + "\r\n", Whole},
	{get + "\r\n|GET /", Whole},
	{"\r\n\r\n" + get + "\r\n|\r\n", Whole},
	{"GET / HTTP/1.0\r\n\r\n", Whole},
	{post + "Content-Length: 2\r\n\r\n{}|{}", Whole},
	{post + "Content-Length: 0\r\n\r\n", Whole},
	{post + "Content-Length:\t002 \r\n\r\n{}", Whole},
	{chunked + "2\r\n{}\r\n0\r\n\r\n|x", Whole},
	{chunked + "002;a;b=c;d=\"e\\\"\tf;\"\r\n{}\r\nA\r\n0123456789\r\n000;x\r\nX:a\r\nY:\r\n\r\n|\r\n",
		Whole},
	{"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"CONNECT [::1]:80 HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"GET https://h:1?x HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"M-SEARCH / HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"GET /a-._~!$&'()*+,;=:@%2f?/? HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{get + "X:\r\nY: \t\r\nZ: a\tb\xff\r\n\r\n", Whole},

	// Not yet.
	{"", More}, {"\r", More}, {"G", More}, {"GET / HTTP/1.1\r", More}, {get, More}, {get + "\r", More},
	{get + "X: a", More},
	{post + "Content-Length: 2\r\n\r\n{", More}, {chunked, More}, {chunked + "2", More},
	{chunked + "2\r\n{}", More},
	{chunked + "2\r\n{}\r", More}, {chunked + "0\r\n", More}, {chunked + "0\r\nX: a\r\n", More},
	{chunked + "0\r\n\r", More},

	// Request lines.
	{"\n", BadRequest}, {"\r\n\n", BadRequest}, {" \r\n", BadRequest}, {"GET\r\n", BadRequest},
	{"GET / \r\n", BadRequest},
	{"GET  HTTP/1.1\r\n", BadRequest}, {" HTTP/1.1\r\n", BadRequest}, {"GET / HTTP/1.1 \r\n", BadRequest},
	{"GET /\tHTTP/1.1\r\n", BadRequest},
	{"GET / HTTP/1.1\r\r\n", BadRequest}, {"G(T / HTTP/1.1\r\n", BadRequest},
	{"GET / HTTP/1.2\r\n", BadRequest}, {"GET / HTTP/01.1\r\n", BadRequest},
	{"GET / http/1.1\r\n", BadRequest}, {"GET * HTTP/1.1\r\n", BadRequest},
	{"OPTIONS ** HTTP/1.1\r\n", BadRequest}, {"GET a HTTP/1.1\r\n", BadRequest},
	{"GET ?a HTTP/1.1\r\n", BadRequest}, {"GET /% HTTP/1.1\r\n", BadRequest},
	{"GET /%2 HTTP/1.1\r\n", BadRequest}, {"GET /%2g HTTP/1.1\r\n", BadRequest},
	{"GET /\x80 HTTP/1.1\r\n", BadRequest}, {"GET /\x7f HTTP/1.1\r\n", BadRequest},
	{"GET /a# HTTP/1.1\r\n", BadRequest}, {"GET /\" HTTP/1.1\r\n", BadRequest},
	{"GET http: HTTP/1.1\r\n", BadRequest}, {"GET http:// HTTP/1.1\r\n", BadRequest},
	{"GET http:/// HTTP/1.1\r\n", BadRequest},
	{"GET http://u@h/ HTTP/1.1\r\n", BadRequest}, {"GET http://h#x HTTP/1.1\r\n", BadRequest},
	{"GET http://h:x/ HTTP/1.1\r\n", BadRequest},
	{"GET ws://h/ HTTP/1.1\r\n", BadRequest}, {"CONNECT h HTTP/1.1\r\n", BadRequest},
	{"CONNECT h: HTTP/1.1\r\n", BadRequest},
	{"CONNECT u@h:80 HTTP/1.1\r\n", BadRequest}, {"CONNECT / HTTP/1.1\r\n", BadRequest},
	{"CONNECT 80 HTTP/1.1\r\n", BadRequest},

	// Headers.
	{get + " X: a\r\n", BadRequest}, {get + "X: a\r\n b\r\n", BadRequest}, {get + "\tX: a\r\n", BadRequest},
	{get + "X : a\r\n", BadRequest},
	{get + "X\r\n", BadRequest}, {get + ": a\r\n", BadRequest}, {get + "X: a\n", BadRequest},
	{get + "X: a\rb\r\n", BadRequest},
	{get + "X: 1234567\x00\r\n", BadRequest}, {get + "X: 1234567890\x7f\r\n", BadRequest},
	{get + "X: \x1f\r\n", BadRequest}, {get + "Xä: a\r\n", BadRequest},
	{get + "\n", BadRequest}, {"GET / HTTP/1.1\r\n\r\n", BadRequest}, {get + "HOST: h\r\n", BadRequest},
	{"GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n", BadRequest},
	// Hosts where RFC 9110 leaves a choice.
	{"GET / HTTP/1.1\r\nHost: h,h\r\n\r\n", Whole}, {"GET / HTTP/1.1\r\nHost: h:\r\n\r\n", Whole},
	{"GET / HTTP/1.1\r\nHost:\r\n", BadRequest}, {"GET / HTTP/1.1\r\nHost: :80\r\n", BadRequest},
	{"GET / HTTP/1.1\r\nHost: h%41\r\n", BadRequest}, {"GET / HTTP/1.1\r\nHost: [v1.x]\r\n", BadRequest},

	// The body's length.
	{post + "Content-Length: 2\r\ncontent-length: 2\r\n", BadRequest},
	{post + "Content-Length: 2, 2\r\n", BadRequest}, {post + "Content-Length:\r\n", BadRequest},
	{post + "Content-Length: +2\r\n", BadRequest}, {post + "Content-Length: -2\r\n", BadRequest},
	{post + "Content-Length: 0x2\r\n", BadRequest},
	{post + "Content-Length: 9223372036854775808\r\n", BadRequest},
	{post + "Content-Length: 2\v\r\n", BadRequest}, {post + "Content-Length: ٢\r\n", BadRequest},
	{post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", BadRequest},
	{post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", BadRequest},
	{post + "Transfer-Encoding: gzip\r\n", BadRequest},
	{post + "Transfer-Encoding: chunked, chunked\r\n", BadRequest},
	{post + "Transfer-Encoding: \r\n", BadRequest},
	{post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", BadRequest},
	{post + "Transfer-Encoding: \"chunked\"\r\n", BadRequest},
	{post + "Transfer-Encoding: chunked;q=1\r\n", BadRequest},
	{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", BadRequest},

	// Chunks and trailers.
	{chunked + "\r\n", BadRequest}, {chunked + "g\r\n", BadRequest}, {chunked + "5;\r\n", BadRequest},
	{chunked + "5;bad[=x\r\n", BadRequest},
	{chunked + "5;\x00ext\r\n", BadRequest}, {chunked + "5 \r\n", BadRequest},
	{chunked + " 5\r\n", BadRequest}, {chunked + "5\t;a\r\n", BadRequest},
	{chunked + "5; a\r\n", BadRequest},
	{chunked + "5;a =b\r\n", BadRequest}, {chunked + "5;a= b\r\n", BadRequest},
	{chunked + "5;a=\r\n", BadRequest}, {chunked + "5;a=\"\r\n", BadRequest},
	{chunked + "5;a=\"\\\r\n", BadRequest}, {chunked + "5;a=\"b\"c\r\n", BadRequest},
	{chunked + "5;a=\"\x01\"\r\n", BadRequest}, {chunked + "5;;a\r\n", BadRequest},
	{chunked + "5\n", BadRequest}, {chunked + "5\r\r\n", BadRequest}, {chunked + "0x5\r\n", BadRequest},
	{chunked + "-5\r\n", BadRequest}, {chunked + "5_0\r\n", BadRequest},
	{chunked + "0000000000000005\r\n", BadRequest}, {chunked + "2\r\n{}\n\r", BadRequest},
	{chunked + "2\r\n{}xx", BadRequest}, {chunked + "0\n", BadRequest},
	{chunked + "0\r\n\n", BadRequest}, {chunked + "0\r\nX: a\r\n b\r\n", BadRequest},
	{chunked + "0\r\nX: a\n", BadRequest}, {chunked + "0\r\nX : a\r\n", BadRequest},
	{chunked + "0\r\nX\r\n", BadRequest}, {chunked + "0\r\nHost: h\r\n", BadRequest},
	{chunked + "0\r\nContent-Length: 0\r\n", BadRequest},
	{chunked + "0\r\nTransfer-Encoding: chunked\r\n", BadRequest},
	{chunked + "0\r\nConnection: close\r\n", BadRequest}, {chunked + "0\r\nExpect: x\r\n", BadRequest},

	// Limits.
	{"GET /" + strings.Repeat("a", 1023) + " HTTP/1.1\r\nHost: h\r\n\r\n", Whole},
	{"GET /" + strings.Repeat("a", 1024) + " HTTP/1.1\r\n", URLTooLong},
	{"GET /" + strings.Repeat("a", 1024+64), URLTooLong}, {strings.Repeat("A", 2000), BadRequest},
	{get + "X: " + strings.Repeat("a", 8<<10-len(get)-7) + "\r\n\r\n", Whole},
	{get + "X: " + strings.Repeat("a", 8<<10-len(get)-6) + "\r\n\r\n", HeadTooLarge},
	{get + strings.Repeat("a", 8<<10), HeadTooLarge}, {strings.Repeat("\r\n", 4<<10), HeadTooLarge},
	{get + strings.Repeat("a:\r\n", 99) + "\r\n", Whole},
	{get + strings.Repeat("a:\r\n", 100), HeadTooLarge},
	{post + "Content-Length: 4096\r\n\r\n" + strings.Repeat("a", 4096), Whole},
	{post + "Content-Length: 4097\r\n\r\n", BodyTooLarge},
	{post + "Content-Length: 9223372036854775807\r\n\r\n", BodyTooLarge},
	{chunked + "ff6\r\n" + strings.Repeat("a", 4086) + "\r\n0\r\n\r\n", Whole},
	{chunked + "ff7\r\n" + strings.Repeat("a", 4087) + "\r\n0\r\n", BodyTooLarge},
	{chunked + "ffa\r\n", BodyTooLarge}, {chunked + "fffffffffffffff\r\n", BodyTooLarge},
	{chunked + "1;" + strings.Repeat("a", 4096), BodyTooLarge},
	{chunked + strings.Repeat("1\r\na\r\n", 1000), BodyTooLarge},
	// The limit of another call, from the head or the line of a chunk on.
	{"\r\n\r\nPUT" + post[4:] + "Content-Length: 1025\r\n\r\n", BodyTooLarge},
	{"PUT" + post[4:] + "Content-Length: 1024\r\n\r\n", More},
	{"PUT" + chunked[4:] + "3fa\r\n", BodyTooLarge}, {"PUT" + chunked[4:] + "3f9\r\n", More},
	{"POST /?x" + post[6:] + "Content-Length: 1025\r\n\r\n", BodyTooLarge},
	{"POST /longer" + post[6:] + "Content-Length: 4097\r\n\r\n", BodyTooLarge},
	{"POST /longer" + post[6:] + "Content-Length: 4096\r\n\r\n", More},
	{chunked + "0\r\nX: " + strings.Repeat("a", 8<<10-len(chunked)-7) + "\r\n\r\n", Whole},
	{chunked + "0\r\nX: " + strings.Repeat("a", 8<<10-len(chunked)-6) + "\r\n\r\n", HeadTooLarge},
	{chunked + "0\r\n" + strings.Repeat("a:\r\n", 98) + "\r\n", Whole},
	{chunked + "0\r\n" + strings.Repeat("a:\r\n", 99), HeadTooLarge},
}

// scan feeds a request in pieces of this number of bytes until there is a verdict.
func scan(t *testing.T, text string, piece int, limits *Limits) (*Request, Verdict) {
	t.Helper()
	r := &Request{}
	for n := 0; ; n += piece {
		end := min(n, len(text))
		v := r.Scan([]byte(text[:end]), limits)
		if v == Continue {
			v = r.Scan([]byte(text[:end]), limits)
		}
		if v != More || end == len(text) {
			return r, v
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range cases {
		text, behind, _ := strings.Cut(c.text, "|")
		for _, piece := range []int{1, 2, 3, 50, 1 << 20} {
			r, v := scan(t, text+behind, piece, &limits)
			if v != c.want {
				t.Errorf("%.200q in pieces of %d: %v, want %v", c.text, piece, v, c.want)
			}
			if v == Whole && r.Size() != len(text) {
				t.Errorf("%.200q in pieces of %d: %d bytes, want %d", c.text, piece, r.Size(), len(text))
			}
		}
	}
}

// What has been searched for the end of a line is not searched again.
func TestNoByteIsSearchedTwice(t *testing.T) {
	var r Request
	text := []byte(get + "X: " + strings.Repeat("a", 8000))
	for n := range text {
		if v := r.Scan(text[:n], &limits); v != More || r.searched < n-1 {
			t.Fatalf("%d bytes: %v, searched %d", n, v, r.searched)
		}
	}
}

// A client that waits for a "100 Continue" is found once, when the head has come and the body has not.
func TestContinue(t *testing.T) {
	for _, c := range []struct {
		head, body string
		want       bool
	}{
		{post + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", "{}", true},
		{post + "Content-Length: 2\r\nEXPECT:100-Continue \r\n\r\n", "{}", true},
		{post + "Content-Length: 2\r\nExpect: a, 100-continue\r\n\r\n", "{}", true},
		{post + "Content-Length: 2\r\nExpect: a\r\nExpect: 100-continue\r\n\r\n", "{}", true},
		{post + "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n", "0\r\n\r\n", true},
		{post + "Content-Length: 2\r\n\r\n", "{}", false},
		{post + "Content-Length: 2\r\nExpect: 100-continued\r\n\r\n", "{}", false},
		{"POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", "{}", false},
		{post + "Content-Length: 0\r\nExpect: 100-continue\r\n\r\n", "", false},
		{get + "Expect: 100-continue\r\n\r\n", "", false},
	} {
		text := c.head + c.body
		var r Request
		asked := 0
		for n := range text {
			switch v := r.Scan([]byte(text[:n]), &limits); {
			case v == Continue && n == len(c.head):
				asked++
			case v != More:
				t.Errorf("%q: %v after %d bytes", text, v, n)
			}
		}
		if v := r.Scan([]byte(text), &limits); v != Whole || asked == 1 != c.want {
			t.Errorf("%q: asked %d times, want %v; then %v", text, asked, c.want, v)
		}
		if _, v := scan(t, text, len(text), &limits); v != Whole {
			t.Errorf("%q at once: %v", text, v)
		}
	}
}

// What a server may not hand on is named.
func TestParts(t *testing.T) {
	text := "HEAD / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: a\r\nExpect: b\r\n\r\n" +
		"1\r\nx\r\n0\r\nX: y\r\nZ: w\r\n\r\n"
	r, v := scan(t, text, 1, &limits)
	if v != Whole || !r.IsHead {
		t.Errorf("%v, HEAD %v", v, r.IsHead)
	}
	if got := text[r.Expect.From:r.Expect.To]; got != " a" {
		t.Errorf("expects %q", got)
	}
	if got := text[r.Trailers.From:r.Trailers.To]; got != "X: y\r\nZ: w\r\n" {
		t.Errorf("trailers %q", got)
	}
}

const (
	plainGet = "GET /foods HTTP/1.1\r\nHost: shop.example.com:8080\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" +
		"Accept: application/json\r\n" +
		"Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n" +
		"Access-Token: AAAAAmsB8P1-Q1xqtPjRO6i9IePT7ku_\r\n\r\n"
	plainPost = "POST /orders HTTP/1.1\r\nHost: shop.example.com:8080\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" +
		"Accept: application/json\r\n" +
		"Content-Type: application/json\r\nContent-Length: 46\r\n" +
		"Access-Token: AAAAAmsB8P1-Q1xqtPjRO6i9IePT7ku_\r\n\r\n" +
		`{"cart_id":"AAAAAq5uL3tVd5YIk6Fd3WmYGnMxR1Zz"}`
)

func TestNoAllocations(t *testing.T) {
	for _, text := range []string{plainGet, plainPost, chunked + "2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n"} {
		received := []byte(text)
		if n := testkit.Allocations(func() {
			var r Request
			if v := r.Scan(received, &limits); v != Whole {
				t.Fatal(v)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for name, text := range map[string]string{"GET": plainGet, "POST": plainPost} {
		b.Run(fmt.Sprintf("%s of %d bytes", name, len(text)), func(b *testing.B) {
			received := []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				var r Request
				if r.Scan(received, &limits) != Whole {
					b.Fatal("not whole")
				}
			}
		})
	}
}

// Each byte ends a value or does not, wherever it stands among eight others.
func TestValueLength(t *testing.T) {
	for c := range 256 {
		for _, around := range []byte{' ', '~', 0x80, 0xff, '\t'} {
			for at := range 16 {
				value := bytes.Repeat([]byte{around}, 16)
				value[at] = byte(c)
				want := len(value)
				if c < ' ' && c != '\t' || c == 0x7f {
					want = at
				}
				if got := valueLength(value); got != want {
					t.Fatalf("byte %#x at %d among %#x: length %d, want %d", c, at, around, got, want)
				}
			}
		}
	}
}
