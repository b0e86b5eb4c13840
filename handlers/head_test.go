package handlers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What requests are written with.
const (
	shopHost  = "Host: shop\r\n"
	getHead   = "GET /healthz HTTP/1.1\r\n" + shopHost
	loginHead = "POST /login HTTP/1.1\r\n" + shopHost
	longHead  = "POST /long HTTP/1.1\r\n" + shopHost      // see takeLong
	loginBody = `{"username":"user2","password":"pass2"}` // 39 bytes
	hasLength = "Content-Length: 39\r\n"
	isChunked = "Transfer-Encoding: chunked\r\n"
	inChunks  = "27\r\n" + loginBody + "\r\n0\r\n\r\n"
)

// heads are requests byte by byte, each with the statuses that it gets; a probe behind it is answered
// unless the server has closed the connection.
var heads = []struct {
	name, request string
	statuses      []int
	closed        bool
}{
	{"plain", getHead + "\r\n", []int{200}, false},
	{"length", loginHead + hasLength + "\r\n" + loginBody, []int{200}, false},
	{"length of a GET", getHead + "Content-Length: 2\r\n\r\n{}", []int{200}, false},
	{"length with leading zero", loginHead + "Content-Length: 039\r\n\r\n" + loginBody, []int{200}, false},
	{"chunks", loginHead + isChunked + "\r\n" + inChunks, []int{200}, false},
	{"chunks in capitals", loginHead + "TRANSFER-ENCODING: CHUNKED\r\n\r\n" + inChunks, []int{200}, false},
	{"chunks, spaces around", loginHead + "Transfer-Encoding: \t chunked \r\n\r\n" + inChunks,
		[]int{200}, false},
	{"empty line before", "\r\n" + getHead + "\r\n", []int{200}, false},

	// Where does the body end?
	{"two lengths, equal", loginHead + hasLength + hasLength + "\r\n" + loginBody, []int{400}, true},
	{"two lengths, different", loginHead + hasLength + "Content-Length: 0\r\n\r\n" + loginBody,
		[]int{400}, true},
	{"lengths in a list", loginHead + "Content-Length: 39, 39\r\n\r\n" + loginBody, []int{400}, true},
	{"length and chunks", loginHead + hasLength + isChunked + "\r\n" + inChunks, []int{400}, true},
	{"chunks and length", loginHead + isChunked + hasLength + "\r\n" + inChunks, []int{400}, true},
	{"chunks and length, small letters", loginHead + isChunked + strings.ToLower(hasLength) + "\r\n" +
		inChunks, []int{400}, true},
	{"chunks twice", loginHead + isChunked + isChunked + "\r\n" + inChunks, []int{400}, true},
	{"identity", loginHead + "Transfer-Encoding: identity\r\n\r\n", []int{400}, true},
	{"identity and length", loginHead + "Transfer-Encoding: identity\r\n" + hasLength + "\r\n" + loginBody,
		[]int{400}, true},
	{"other codings", loginHead + "Transfer-Encoding: gzip, chunked\r\n\r\n" + inChunks, []int{400}, true},
	{"unknown coding", loginHead + "Transfer-Encoding: xchunked\r\n\r\n" + inChunks, []int{400}, true},
	{"empty coding", loginHead + "Transfer-Encoding:\r\n\r\n" + inChunks, []int{400}, true},
	{"vertical tab before coding", loginHead + "Transfer-Encoding: \vchunked\r\n\r\n" + inChunks,
		[]int{400}, true},
	{"coding in HTTP/1.0", "POST /login HTTP/1.0\r\n" + isChunked + "\r\n" + inChunks, []int{400}, true},
	{"space before colon of coding", loginHead + "Transfer-Encoding : chunked\r\n\r\n" + inChunks,
		[]int{400}, true},
	{"space before colon of length", loginHead + "Content-Length : 39\r\n\r\n" + loginBody,
		[]int{400}, true},
	{"negative length", loginHead + "Content-Length: -1\r\n\r\n" + loginBody, []int{400}, true},
	{"length with plus", loginHead + "Content-Length: +39\r\n\r\n" + loginBody, []int{400}, true},
	{"length in hex", loginHead + "Content-Length: 0x27\r\n\r\n" + loginBody, []int{400}, true},
	{"no length", loginHead + "Content-Length:\r\n\r\n" + loginBody, []int{400}, true},
	{"two numbers", loginHead + "Content-Length: 39 39\r\n\r\n" + loginBody, []int{400}, true},
	{"length beyond 64 bits", loginHead + "Content-Length: 99999999999999999999\r\n\r\n" + loginBody,
		[]int{400}, true},

	{"folded", getHead + "X: a\r\n b\r\n\r\n", []int{400}, true},
	{"folded with colon", getHead + "X: a\r\n b: c\r\n\r\n", []int{400}, true},
	{"folded by a tab", getHead + "X: a\r\n\tb:c\r\n\r\n", []int{400}, true},
	{"folded coding", loginHead + "Transfer-Encoding:\r\n chunked\r\n\r\n" + inChunks, []int{400}, true},
	{"folded first", "GET /healthz HTTP/1.1\r\n " + shopHost + "\r\n", []int{400}, true},
	{"bare LF", getHead + "X: a\nContent-Length: 0\r\n\r\n", []int{400}, true},
	{"bare LF in all lines", "GET /healthz HTTP/1.1\nHost: shop\nX: a\n\r\n\r\n", []int{400}, true},
	{"bare LF at the end", getHead + "X: a\r\n\n", []int{400}, true},
	{"bare CR in value", getHead + "X: a\rb\r\n\r\n", []int{400}, true},
	{"bare CR after value", getHead + "X: a\r\r\n\r\n", []int{400}, true},
	{"bare CR in name", getHead + "X\ra: b\r\n\r\n", []int{400}, true},
	{"bare CR before name", getHead + "\rX: a\r\n\r\n", []int{400}, true},
	{"bare CR in request line", "GET /healthz\r HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"bare CR after version", "GET /healthz HTTP/1.1\r\r\n" + shopHost + "\r\n", []int{400}, true},
	{"bare CR before method", "\rGET /healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},

	{"NUL in name", getHead + "X\x00: a\r\n\r\n", []int{400}, true},
	{"NUL in value", getHead + "X: a\x00\r\n\r\n", []int{400}, true},
	{"NUL in URL", "GET /healthz\x00 HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"NUL in method", "G\x00ET /healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"control byte in value", getHead + "X: a\x01\r\n\r\n", []int{400}, true},
	{"control byte in URL", "GET /health\x01z HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"DEL in value", getHead + "X: a\x7f\r\n\r\n", []int{400}, true},
	{"tab in value", getHead + "X: a\tb\r\n\r\n", []int{200}, false},
	{"tab in URL", "GET /healthz\t HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"UTF-8 in value", getHead + "X: 篮\r\n\r\n", []int{200}, false},
	{"space in name", getHead + "X a: b\r\n\r\n", []int{400}, true},
	{"no name", getHead + ": b\r\n\r\n", []int{400}, true},
	{"no colon", getHead + "Xab\r\n\r\n", []int{400}, true},

	// Lines and protocols.
	{"space in URL", "GET /health z HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"two spaces", "GET  /healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"space before method", " GET /healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"method in small letters", "get /healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{405}, false},
	{"relative URL", "GET healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"absolute URL", "GET http://shop/healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{200}, false},
	{"broken absolute URL", "GET http://[/healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"authority for URL", "CONNECT shop:80 HTTP/1.1\r\n" + shopHost + "\r\n", []int{404}, false},
	{"authority for URL of another method", "GET shop:80 HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{400}, true},
	{"authority without port", "CONNECT shop HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"path for CONNECT", "CONNECT /healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"asterisk for URL", "OPTIONS * HTTP/1.1\r\n" + shopHost + "\r\n", []int{204}, false},
	{"asterisk for URL of another method", "GET * HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"absolute URL with TLS's scheme in capitals",
		"GET HTTPS://shop/healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{200}, false},
	{"absolute URL with userinfo", "GET http://user@shop/healthz HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{400}, true},
	{"absolute URL without host", "GET http:///healthz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"absolute URL of another scheme", "GET ftp://shop/healthz HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{400}, true},
	{"URL in a query", "GET /healthz?x=http://y/admin/orders HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{200}, false},
	{"raw UTF-8 in URL", "GET /篮 HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"raw byte above 0x7f in URL", "GET /healthz?\xff HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"fragment in URL", "GET /healthz#x HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"backslash in URL", "GET /healthz\\x HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"encoded UTF-8 in URL", "GET /%e7%af%ae HTTP/1.1\r\n" + shopHost + "\r\n", []int{404}, false},
	{"overlong encoded slash", "GET /admin%c0%aforders HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"encoded byte that is not UTF-8", "GET /%ff HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"broken encoding", "GET /healthz%2 HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"encoding that is none", "GET /healthz%zz HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"broken encoding in a query", "GET /healthz?x=%g0 HTTP/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"URL with a host and no scheme", "GET //x/healthz HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{404}, false},
	{"the same without a host", "GET //x/healthz HTTP/1.0\r\n\r\n", []int{404}, true},
	{"no host", "GET /healthz HTTP/1.1\r\n\r\n", []int{400}, true},
	{"empty host", "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", []int{400}, true},
	{"two hosts", getHead + shopHost + "\r\n", []int{400}, true},
	{"host with path", "GET /healthz HTTP/1.1\r\nHost: shop/evil\r\n\r\n", []int{400}, true},
	{"host with userinfo", "GET /healthz HTTP/1.1\r\nHost: user@shop\r\n\r\n", []int{400}, true},
	{"host with space", "GET /healthz HTTP/1.1\r\nHost: shop evil\r\n\r\n", []int{400}, true},
	{"hosts in a list", "GET /healthz HTTP/1.1\r\nHost: shop, evil\r\n\r\n", []int{400}, true},
	{"host with port", "GET /healthz HTTP/1.1\r\nHost: shop:80\r\n\r\n", []int{200}, false},
	{"host with a port that is none", "GET /healthz HTTP/1.1\r\nHost: shop:8a\r\n\r\n", []int{400}, true},
	{"host with two ports", "GET /healthz HTTP/1.1\r\nHost: shop:80:80\r\n\r\n", []int{400}, true},
	{"IPv6 host", "GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", []int{200}, false},
	{"broken IPv6 host", "GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n", []int{400}, true},
	{"two hosts in HTTP/1.0", "GET /healthz HTTP/1.0\r\n" + shopHost + shopHost + "\r\n", []int{400}, true},
	{"HTTP/0.9", "GET /healthz\r\n\r\n", []int{400}, true},
	{"HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", []int{200}, true},
	{"HTTP/1.0 kept alive", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", []int{200}, false},
	{"HTTP/1.2", "GET /healthz HTTP/1.2\r\n" + shopHost + "\r\n", []int{400}, true},
	{"HTTP/2.0", "GET /healthz HTTP/2.0\r\n" + shopHost + "\r\n", []int{400}, true},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400}, true},
	{"http/1.1", "GET /healthz http/1.1\r\n" + shopHost + "\r\n", []int{400}, true},
	{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", []int{400}, true},
	{"HTTP/9.9", "GET /healthz HTTP/9.9\r\n" + shopHost + "\r\n", []int{400}, true},
	{"close in capitals", getHead + "Connection: Close\r\n\r\n", []int{200}, true},
	{"close in a list", getHead + "Connection: keep-alive, close\r\n\r\n", []int{200}, true},
	{"close first in a list", getHead + "Connection: close, te\r\n\r\n", []int{200}, true},
	{"close in a list without spaces", getHead + "Connection: te,,\tCLOSE\t,\r\n\r\n", []int{200}, true},
	{"close before keep-alive", getHead + "Connection: close\r\nConnection: keep-alive\r\n\r\n",
		[]int{200}, true},
	{"close after keep-alive", getHead + "Connection: keep-alive\r\nConnection: close\r\n\r\n",
		[]int{200}, true},
	{"an option that begins like close", getHead + "Connection: closed, not-close\r\n\r\n",
		[]int{200}, false},
	{"HTTP/1.0 kept alive and closed", "GET /healthz HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
		[]int{200}, true},
	{"HTTP/1.0 kept alive in capitals", "GET /healthz HTTP/1.0\r\nConnection: te, Keep-Alive\r\n\r\n",
		[]int{200}, false},
	// not taken up
	{"upgrade", getHead + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", []int{200}, false},
	{"close", getHead + "Connection: close\r\n\r\n", []int{200}, true},

	// Chunks.
	{"extension", loginHead + isChunked + "\r\n27;a=b\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{200}, false},
	{"trailer", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\nX: a\r\n\r\n",
		[]int{200}, false},
	{"extensions of each kind", loginHead + isChunked + "\r\n27;a;b=c;d=\"e;\\\" f\"\r\n" + loginBody +
		"\r\n0;z\r\n\r\n", []int{200}, false},
	{"no extension behind a semicolon", loginHead + isChunked + "\r\n27;\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"name of an extension that is none", loginHead + isChunked + "\r\n27;bad[=x\r\n" + loginBody +
		"\r\n0\r\n\r\n", []int{400}, true},
	{"NUL in extension", loginHead + isChunked + "\r\n27;\x00ext\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"extension without value", loginHead + isChunked + "\r\n27;a=\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"extension with an open string", loginHead + isChunked + "\r\n27;a=\"b\r\n" + loginBody +
		"\r\n0\r\n\r\n", []int{400}, true},
	{"extension with space", loginHead + isChunked + "\r\n27; a=b\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"extension of the last chunk that is none",
		loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0;\r\n\r\n", []int{400}, true},
	{"space behind chunk size", loginHead + isChunked + "\r\n27 \r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"space before chunk size", loginHead + isChunked + "\r\n 27\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"bare CR behind chunk size", loginHead + isChunked + "\r\n27\r\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"bare LF behind the last chunk", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\n\n",
		[]int{400}, true},
	{"folded trailer", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\nX: a\r\n b\r\n\r\n",
		[]int{400}, true},
	{"trailer with bare LF", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\nX: a\n\r\n",
		[]int{400}, true},
	{"trailer with space before colon", loginHead + isChunked + "\r\n27\r\n" + loginBody +
		"\r\n0\r\nX : a\r\n\r\n", []int{400}, true},
	{"trailer without colon", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\nX\r\n\r\n",
		[]int{400}, true},
	{"trailer with NUL", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\nX: \x00\r\n\r\n",
		[]int{400}, true},
	{"trailer that routes", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\nHost: shop\r\n\r\n",
		[]int{400}, true},
	{"trailer that frames", loginHead + isChunked + "\r\n27\r\n" + loginBody + "\r\n0\r\n" + hasLength +
		"\r\n", []int{400}, true},
	// dropped
	{"trailer that names a client", loginHead + isChunked + "\r\n27\r\n" + loginBody +
		"\r\n0\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n", []int{200}, false},
	{"extension with LF", loginHead + isChunked + "\r\n27;a\nb\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"chunk size that is none", loginHead + isChunked + "\r\nzz\r\n", []int{400}, true},
	{"negative chunk size", loginHead + isChunked + "\r\n-27\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"chunk size with 0x", loginHead + isChunked + "\r\n0x27\r\n" + loginBody + "\r\n0\r\n\r\n",
		[]int{400}, true},
	{"chunk size beyond 64 bits", loginHead + isChunked + "\r\nffffffffffffffffff\r\n" + loginBody,
		[]int{400}, true},
	{"chunk sizes beyond 64 bits", loginHead + isChunked + "\r\n1\r\n \r\n7ffffffffffffffe\r\n" + loginBody,
		[]int{400}, true},
	{"chunk without end", loginHead + isChunked + "\r\n27\r\n" + loginBody + "0\r\n\r\n", []int{400}, true},
	{"chunk lines with bare LF", loginHead + isChunked + "\r\n27\n" + loginBody + "\n0\n\n",
		[]int{400}, true},

	// Limits.
	{"longest URL", "GET /" + strings.Repeat("a", urlBytesMax-1) + " HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{404}, false},
	{"URL too long", "GET /" + strings.Repeat("a", urlBytesMax) + " HTTP/1.1\r\n" + shopHost + "\r\n",
		[]int{414}, true},
	{"URL longer than a head", "GET /" + strings.Repeat("a", headBytesMax) + " HTTP/1.1\r\n" + shopHost +
		"\r\n", []int{414}, true},
	{"longest head", getHead + "X: " + strings.Repeat("a", headBytesMax-len(getHead+"X: \r\n\r\n")) +
		"\r\n\r\n", []int{200}, false},
	{"head a byte too long", getHead + "X: " + strings.Repeat("a",
		headBytesMax-len(getHead+"X: \r\n\r\n")+1) + "\r\n\r\n", []int{431}, true},
	{"empty lines before, too many", strings.Repeat("\r\n", headBytesMax/2) + getHead + "\r\n",
		[]int{431}, true},
	{"head too long", getHead + "X: " + strings.Repeat("a", headBytesMax) + "\r\n\r\n", []int{431}, true},
	{"most headers", getHead + strings.Repeat("a:b\r\n", headersMax-1) + "\r\n", []int{200}, false},
	{"too many headers", getHead + strings.Repeat("a:b\r\n", headersMax) + "\r\n", []int{431}, true},
	{"longest body", loginHead + "Content-Length: 1024\r\n\r\n" + strings.Repeat(" ", bodyBytesMax),
		[]int{400}, false},
	{"longest head and body of a call with long ones", longHead + "Content-Length: 32768\r\nX: " +
		strings.Repeat("a", headBytesMax-len(longHead+"Content-Length: 32768\r\nX: \r\n\r\n")) +
		"\r\n\r\n" + strings.Repeat(" ", longestBodyMax), []int{200}, false},
	{"long body too long", longHead + "Content-Length: 32769\r\n\r\n", []int{413}, true},
	{"body too long", loginHead + "Content-Length: 1025\r\n\r\n" + strings.Repeat(" ", bodyBytesMax+1),
		[]int{413}, true},
	{"body of a GET too long", getHead + "Content-Length: 1025\r\n\r\n" + strings.Repeat(" ",
		bodyBytesMax+1), []int{413}, true},
	{"longest length", loginHead + "Content-Length: 9223372036854775807\r\n\r\n" + loginBody,
		[]int{413}, true},
	{"longest chunk of a long body", longHead + isChunked + "\r\n7ff5\r\n" +
		strings.Repeat(" ", longestBodyMax-11) + "\r\n0\r\n\r\n", []int{200}, false},
	{"longest chunk", loginHead + isChunked + "\r\n3f6\r\n" + strings.Repeat(" ", bodyBytesMax-10) +
		"\r\n0\r\n\r\n", []int{400}, false},
	{"chunk too long", loginHead + isChunked + "\r\n401\r\n" + strings.Repeat(" ", bodyBytesMax+1) +
		"\r\n0\r\n\r\n", []int{413}, true},
	{"chunks too long", loginHead + isChunked + strings.Repeat("\r\n200\r\n"+strings.Repeat(" ",
		bodyBytesMax/2), 3), []int{413}, true},
	{"chunks of a byte", loginHead + isChunked + "\r\n" + strings.Repeat("1\r\n \r\n", bodyBytesMax),
		[]int{413}, true},
	{"extension too long", loginHead + isChunked + "\r\n1;" + strings.Repeat("a", bodyBytesMax),
		[]int{413}, true},
	{"extension without end", loginHead + isChunked + "\r\n1" + strings.Repeat(";a=b", 1<<20),
		[]int{413}, true},
	{"trailer too long", loginHead + isChunked + "\r\n0\r\nX: " + strings.Repeat("a", headBytesMax),
		[]int{431}, true},
	{"trailers without end", loginHead + isChunked + "\r\n0\r\n" + strings.Repeat("X: a\r\n", 1<<20),
		[]int{431}, true},
}

// probe is a request with a reply of its own.
const (
	probe     = "GET /readyz HTTP/1.1\r\n" + shopHost + "\r\n"
	probeBody = `{"status":"ready"`
)

func TestHeads(t *testing.T) { onBoth(t, testHeads) }

func testHeads(t *testing.T, s *shop) {
	s.takeLong()
	address := s.listen(t)
	t.Run("all", func(t *testing.T) {
		for _, h := range heads {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				if statuses, closed := exchange(t, address, h.request+probe); !slices.Equal(statuses,
					h.statuses) || closed != h.closed {
					t.Errorf("statuses %v, closed %v; want %v, %v", statuses, closed, h.statuses, h.closed)
				}
			})
		}
	})
}

// exchange sends requests with the probe behind them and returns the statuses of the replies before that to
// the probe; closed means that the server has closed the connection instead of answering it.
func exchange(t *testing.T, address, requests string) (statuses []int, closed bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, requests) // fails where the server closes before it has read all
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewReader(c)
	for {
		r, err := http.ReadResponse(replies, nil)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			return statuses, true
		}
		if err != nil {
			t.Fatalf("after %v: %v", statuses, err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatalf("after %v: %v", statuses, err)
		}
		if strings.HasPrefix(string(body), probeBody) {
			return statuses, false
		}
		statuses = append(statuses, r.StatusCode)
		if r.StatusCode >= 400 && !strings.HasPrefix(string(body), `{"code":"`) {
			t.Errorf("status %d with %q", r.StatusCode, body)
		}
	}
}

// What is pipelined is answered in order. From a request that is refused on, nothing is acted on: here no
// order.
func TestPipeline(t *testing.T) { onBoth(t, testPipeline) }

func testPipeline(t *testing.T, s *shop) {
	address := s.listen(t)
	request := func(method, path, body, headers string) string {
		return fmt.Sprintf("%s %s HTTP/1.1\r\n%sAccess-Token: %s\r\nContent-Length: %d\r\n%s\r\n%s", method,
			path, shopHost, s.token(2), len(body), headers, body)
	}
	order := request("POST", "/orders", `{"cart_id":"`+s.cartOf(2)+`"}`, "")
	add := request("PATCH", "/carts/"+s.cartOf(2), `{"food_id":1,"count":1}`, "")
	for _, bad := range []string{isChunked, "X: a\n", "X: a\r\n b\r\n", hasLength, "X: \x00\r\n",
		strings.Repeat("a:b\r\n", headersMax)} {
		if statuses, closed := exchange(t, address,
			add+request("POST", "/orders", "0\r\n\r\n", bad)+order+probe); len(statuses) != 2 ||
			statuses[0] == 200 || statuses[1] < 400 || !closed {
			t.Errorf("%q: %v, closed %v", bad, statuses, closed)
		}
	}
	s.expect(t, 2, "GET", "/orders", "", 200, "[]")

	var requests strings.Builder
	var want []int
	for range 50 {
		requests.WriteString(request("GET", "/foods", "", "") + request("GET", "/nothing", "", "") +
			request("POST", "/foods", "", "") + request("POST", "/login", "{}", ""))
		want = append(want, 200, 404, 405, 400)
	}
	requests.WriteString(request("PATCH", "/carts/"+s.cartOf(2), `{"food_id":1,"count":-3}`, "") + add +
		order + order + probe)
	want = append(want, 204, 204, 200, 403)
	if statuses, closed := exchange(t, address, requests.String()); !slices.Equal(statuses, want) ||
		closed {
		t.Errorf("statuses %v, closed %v; want %v", statuses, closed, want)
	}
}
