package handlers

import (
	"slices"
	"strings"
)

// The tables of heads and bodies have an example of each kind of fault: framing proves the verdicts one by
// one, and these that a verdict becomes the right reply on either engine.

func rawTarget(target string) string { return rawLine("GET " + target + " HTTP/1.1") }

func rawVersion(version string) string { return rawLine("GET /healthz " + version) }

// An octet sequence that is no HTTP message gets 400 and a close (9112 2.2).
var requestLineProbes = slices.Concat([]rawProbe{
	{"9112 3", "plain", rawLine("GET /healthz HTTP/1.1"), wantAlive},
	{"9112 3", "with a query", rawLine("GET /healthz?a=b&c HTTP/1.1"), wantAlive},
	{"9112 3", "with an empty query", rawLine("GET /healthz? HTTP/1.1"), wantAlive},
	{"9112 3", "a header in its place", "Host: shop\r\n\r\n", wantBad},
	{"9112 2.2", "an empty line behind a body", rawPost(rawLength, rawLogin+"\r\n"),
		"login keep or login BAD_REQUEST close"},
},
	each("9112 3", "line", rawLine, wantBad, "GET HTTP/1.1", "GET  HTTP/1.1", "GET", "GET /healthz HTTP/1.1 x",
		"HTTP/1.1 200 OK", "GET\t/healthz HTTP/1.1", "GET  /healthz HTTP/1.1", " GET /healthz HTTP/1.1",
		"GET /healthz HTTP/1.1 ", "G(T /healthz HTTP/1.1", "GET: /healthz HTTP/1.1", "G\x00ET /healthz HTTP/1.1",
		"GÉT /healthz HTTP/1.1"),
	// A server should pass over at least one empty line (9112 2.2); it may refuse.
	each("9112 2.2", "before", func(text string) string { return text + rawGet("") }, mayAlive, "\r\n",
		"\r\n\r\n", strings.Repeat("\r\n", 100), "\n"),
	each("9112 2.2", "before", func(text string) string { return text + rawGet("") }, wantBad, " \r\n",
		"\x00\r\n", "\r", "\xef\xbb\xbf", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"),
	each("9112 2.2", "end of the line", func(end string) string {
		return "GET /healthz HTTP/1.1" + end + shopHost + "\r\n"
	}, wantBad, "\n", "\n\r", "\r\r\n", "\r"),
	each("9112 2.2", "another protocol", func(text string) string { return text }, wantBad+" or 505 close",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"*1\r\n$4\r\nPING\r\n", "EHLO shop\r\n"),
	// A method that is not known should get 501 (9110 9.1), one that the path does not know 405 (15.5.6).
	each("9110 9.1", "a strange method", func(method string) string {
		return rawLine(method + " /healthz HTTP/1.1")
	}, "NO_METHOD keep or 501 keep or 501 close", "get", "GETS", "BREW", "M-SEARCH", "!#$%&'*+-.^_`|~", "0"),
)

// Forms of the request target (9112 3.2).
var targetProbes = slices.Concat([]rawProbe{
	{"9112 3.2.2", "absolute without Host", "GET http://shop/healthz HTTP/1.1\r\n\r\n", wantBad},
	{"9112 3.2.2", "absolute with two Hosts", rawTarget("http://shop/healthz HTTP/1.1\r\nHost: shop"),
		wantBad},
	{"9112 3.2.2", "absolute without a path", rawTarget("http://shop"), mayAbsent},
	{"9112 3.2.4", "asterisk of OPTIONS", rawLine("OPTIONS * HTTP/1.1"), "204 keep"},
	{"9112 3.2.4", "asterisk of OPTIONS with a body",
		"OPTIONS * HTTP/1.1\r\nHost: shop\r\nContent-Length: 2\r\n\r\n{}", "204 keep"},
	{"9112 3.2.4", "asterisk as a path", rawLine("OPTIONS /* HTTP/1.1"), wantAbsent},
	// Whatever CONNECT gets, it opens no tunnel.
	{"9112 3.2.3", "authority", rawLine("CONNECT shop:80 HTTP/1.1"),
		"NOT_FOUND keep or NO_METHOD keep or NOT_FOUND close or NO_METHOD close or 501 close or " + wantBad},
},
	each("9112 3.2.2", "absolute", rawTarget, wantAlive, "http://shop/healthz", "HTTP://shop/healthz",
		"http://shop:80/healthz", "http://shop/healthz?a=/b", "http://[::1]:80/healthz"),
	// The Host field is ignored then; a server may as well suspect it.
	each("9112 3.2.2", "absolute of another server", rawTarget, mayAlive+" or 421 close",
		"http://other/healthz", "https://shop/healthz"),
	each("9112 3.2.4", "asterisk", rawLine, wantBad, "GET * HTTP/1.1", "POST * HTTP/1.1", "HEAD * HTTP/1.1",
		"OPTIONS *x HTTP/1.1", "OPTIONS *?x HTTP/1.1"),
	each("9112 3.2", "no target", rawTarget, wantBad, "healthz", "shop:80", "?a=b", `\healthz`, "http://",
		"http:///healthz", "http://[/healthz", "http://:80/healthz", "http:healthz", "http://me@shop/healthz",
		"http://shop:x/healthz", `http://shop\evil/healthz`, "/health\x00z", "/health\tz", "/health\x7fz",
		"/healthz?a\x00z", "/healthz?a z"),
	// A fragment is no part of it. What follows the sign must not be cut off: a proxy's rule saw it.
	each("9112 3.2", "fragment", func(target string) string {
		return rawLine("GET " + target + " HTTP/1.1\r\nAccess-Token: {root}")
	}, mayAbsent, "/healthz#", "/healthz#a", "/admin/orders#/foods", "/#/healthz"),
	// Browsers do send these in queries (RFC 3986 does not have them).
	each("9112 3.2", "in a query", func(c string) string { return rawTarget("/healthz?a=" + c) }, mayAlive,
		`"`, "<", `\`, "^", "[", "%", "%z", "%00", "é", "\xff", "#"),
)

// HTTP-version = "HTTP/" DIGIT "." DIGIT, in capitals (9112 2.3).
var versionProbes = slices.Concat([]rawProbe{
	{"9112 2.3", "HTTP/0.9", "GET /healthz\r\n\r\n", wantBad},
	{"9112 2.3", "HTTP/0.9 with fields", rawLine("GET /healthz"), wantBad},
	{"9112 C.2.1", "HTTP/1.0 without Host", "GET /healthz HTTP/1.0\r\n\r\n", "alive close"},
	{"9112 9.3", "HTTP/1.0 with a length", "POST /login HTTP/1.0\r\n" + rawLength + "\r\n" + rawLogin,
		"login close"},
	{"9112 6.3", "HTTP/1.0 without a length", "POST /login HTTP/1.0\r\n\r\n", "EMPTY_REQUEST close"},
	{"9112 6.1", "HTTP/1.0 with chunks", "POST /login HTTP/1.0\r\nHost: shop\r\n" + rawChunked + "\r\n" +
		rawOneShot, wantBad},
	{"9110 10.1.1", "HTTP/1.0 with Expect", "POST /login HTTP/1.0\r\nExpect: 100-continue\r\n" + rawLength +
		"\r\n" + rawLogin, "login close"},
	{"9112 2.3", "HTTP/1.0, then HTTP/1.1 on a connection kept alive",
		"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + rawGet(""),
		"alive alive keep or alive close"},
	{"9112 2.3", "HTTP/1.1, then HTTP/1.0", rawGet("") + "GET /healthz HTTP/1.0\r\n\r\n",
		"alive alive close"},
},
	// A higher minor version may be read as HTTP/1.1 (9110 2.5).
	each("9110 2.5", "minor version", rawVersion, mayAlive+" or 505 close", "HTTP/1.2", "HTTP/1.9"),
	each("9110 2.5", "no version", rawVersion, wantBad+" or 505 close", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9",
		"http/1.1", "HTTP/1", "HTTP/.1", "HTTP/1.10", "HTTP/01.1", "HTTP/1.1\x00", "HTTPS/1.1"),
)

func rawHost(value string) string { return "GET /healthz HTTP/1.1\r\nHost: " + value + "\r\n\r\n" }

func rawHosts(fields string) string { return "GET /healthz HTTP/1.1\r\n" + fields + "\r\n" }

// A request without Host, with two, or with one that is invalid gets 400 (9112 3.2). Host = uri-host [ ":"
// port ] (9110 7.2) without user information (4.2.4).
var hostProbes = slices.Concat([]rawProbe{
	{"9112 3.2", "two in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: shop\r\nHost: shop\r\n\r\n", wantBad},
	{"9112 3.2", "invalid in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: a b\r\n\r\n", wantBad},
	{"9112 3.2", "none on a POST", "POST /login HTTP/1.1\r\n" + rawLength + "\r\n" + rawLogin, wantBad},
	{"9112 3.2", "none on an unknown path", "GET /nothing HTTP/1.1\r\n\r\n", wantBad},
},
	each("9112 3.2", "fields", rawHosts, wantAlive, "host: shop\r\n", "HOST: shop\r\n", "Host:shop\r\n",
		"Host: \t shop \t\r\n", "Accept: */*\r\nHost: shop\r\n"),
	each("9112 3.2", "fields", rawHosts, wantBad, "", "X-Host: shop\r\n", "Host: shop\r\nHost: shop\r\n",
		"Host: shop\r\nHost: evil\r\n", "Host: shop\r\nA: b\r\nhost: evil\r\n", "Host:\r\nHost: shop\r\n",
		"Host : shop\r\n", "Host:\r\n shop\r\n", " Host: shop\r\n"),
	each("9110 7.2", "valid", rawHost, wantAlive, "shop", "a-b.example.", "127.0.0.1:8080", "[::1]:8080",
		"shop_1", "shop:", "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:1"),
	each("9110 7.2", "in the grammar, but odd", rawHost, mayAlive, "", " \t ", "a,b", ".", "%41",
		"shop:65536", "[v1.a]", "256.1.1.1", ":80"),
	each("9110 7.2", "invalid", rawHost, wantBad, "me@shop", "a b", "shop, evil", "shop/path", "http://shop",
		"shop?a", "shop#a", `shop\evil`, "shop:x", "shop:80:80", "shop:-1", "::1", "[::1", "[]", "[::1]:x",
		"[::1%eth0]", "[:::::::::::::::::::::::::::::::::::::::::::::::::::]", `"shop"`, "%zz", "sh\x00op", "篮",
		"sh\xffop"),
)

// field-line = field-name ":" OWS field-value OWS (9112 5). What does not match the grammar gets 400 (9112
// 2.2): a proxy that reads it otherwise would see another request.
var fieldProbes = slices.Concat(
	each("9112 5", "fields", rawGet, wantAlive, "Accept: */*\r\nUser-Agent: x\r\n", "X:\r\n", "X: \t \r\n",
		"X: a:b:c\r\n", "X:a\r\n", "X: a\r\nX: b\r\n", "X: a\tb\r\n", "X: 篮子\r\n", "X: \xe9\r\n",
		"X: \"(),/:;<=>?@[\\]{}\r\n", "x!#$%&'*+-.^_`|~09AZ: a\r\n"),
	each("9112 5", "no field", rawGet, wantBad, "Xab\r\n", "X ab\r\n", ": a\r\n", "GET /foods HTTP/1.1\r\n",
		"X : a\r\n", "X\t: a\r\n", "X\x00: a\r\n", "Xé: a\r\n", "X(: a\r\n", "A: b\r\n\ufeffX: a\r\n"),
	// obs-fold: refused or replaced by spaces (9112 5.2); nothing that can be read in two ways is taken.
	each("9112 5.2", "folded", rawGet, wantBad, "X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "X: a\r\n Y: b\r\n",
		"X: a\r\n \r\n", "X:\r\n a\r\n", " X: a\r\n"),
	each("9112 2.2", "ends of lines", rawGet, wantBad, "X: a\nY: b\r\n", "X: a\n", "X: a\rY: b\r\n",
		"X: a\r\r\n", "\rX: a\r\n", "X: a\r\n\r\r\n", "X: a\n\rY: b\r\n", "\n", "\rX"),
	// CR, LF and NUL in a value are refused or become spaces. Other control bytes are invalid, but may be
	// kept where they do no harm (9110 5.5).
	each("9110 5.5", "NUL", rawGet, wantBad, "X: a\x00b\r\n", "X: \x00\r\n"),
	each("9110 5.5", "control byte", rawGet, mayAlive, "X: a\x01b\r\n", "X: a\vb\r\n", "X: a\x7fb\r\n"),
)

// A head that will never get its empty line is refused when that is clear, not when time is up.
var unfinishedProbes = slices.Concat([]rawProbe{
	{"9112 2.2", "head in bare LF of a POST", "POST /login HTTP/1.1\nHost: shop\n" +
		strings.ReplaceAll(rawLength, "\r", "") + "\n" + rawLogin, wantBad},
	{"9112 7.1", "chunk too long for the body", rawChunks("8001\r\n"), "BODY_TOO_LARGE close"},
	{"9112 6.3", "length too long for a body", rawPost("Content-Length: 32769\r\n", ""),
		"BODY_TOO_LARGE close"},
	{"9112 6.3", "length that is none", rawPost("Content-Length: x\r\n", ""), wantBad},
	{"9112 6.1", "coding that is none", rawPost("Transfer-Encoding: xchunked\r\n", ""), wantNoCoding},
	{"6585 5", "head without an end", getHead + "X: " + strings.Repeat("a", 9<<10), "HEAD_TOO_LARGE close"},
	{"9112 3", "request line without an end", "GET /" + strings.Repeat("a", 9<<10),
		"URL_TOO_LONG close or HEAD_TOO_LARGE close"},
},
	each("9112 2.2", "head", func(head string) string { return head }, wantBad+" or 505 close",
		"GET /healthz HTTP/1.1\nHost: shop\n\n", getHead+"\n", getHead+"X: a\r\n b\r\n", getHead+" X: a\r\n",
		"GET /healthz HTTP/9.9\r\n", "GET /healthz HTTP/1.0\n\n"),
	each("9112 7.1", "chunks", rawChunks, wantBad, "27;\r\n", "27\n"+rawLogin+"\n0\n\n",
		"27\r\n"+rawLogin+"\r\n0\n\n", "27\r\n"+rawLogin+"\r\n0\r\n\n", "zz\r\n", "-1\r\n"),
)
