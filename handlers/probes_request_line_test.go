package handlers

import (
	"slices"
	"strings"
)

// An octet sequence that is no HTTP message gets 400 and a close (9112 2.2).
var requestLineProbes = slices.Concat([]rawProbe{
	{"9112 3", "plain", rawLine("GET /healthz HTTP/1.1"), wantAlive},
	{"9112 3", "with a query", rawLine("GET /healthz?a=b&c HTTP/1.1"), wantAlive},
	{"9112 3", "with an empty query", rawLine("GET /healthz? HTTP/1.1"), wantAlive},
	{"9112 3", "no target", rawLine("GET HTTP/1.1"), wantBad},
	{"9112 3", "an empty target", rawLine("GET  HTTP/1.1"), wantBad},
	{"9112 3", "a method alone", rawLine("GET"), wantBad},
	{"9112 3", "a method and a space", rawLine("GET "), wantBad},
	{"9112 3", "a fourth word", rawLine("GET /healthz HTTP/1.1 x"), wantBad},
	{"9112 3", "a version twice", rawLine("GET /healthz HTTP/1.1 HTTP/1.1"), wantBad},
	{"9112 3", "a header in its place", "Host: shop\r\n\r\n", wantBad},
	{"9112 3", "a status line", rawLine("HTTP/1.1 200 OK"), wantBad},

	// A server should pass over at least one empty line (9112 2.2); it may refuse.
	{"9112 2.2", "an empty line before", "\r\n" + rawGet(""), mayAlive},
	{"9112 2.2", "two empty lines before", "\r\n\r\n" + rawGet(""), mayAlive},
	{"9112 2.2", "many empty lines before", strings.Repeat("\r\n", 100) + rawGet(""), mayAlive},
	{"9112 2.2", "an empty line behind a body", rawPost(rawLength, rawLogin+"\r\n"),
		"login keep or login BAD_REQUEST close"},
	{"9112 2.2", "an empty line in bare LF before", "\n" + rawGet(""), mayAlive},
	{"9112 2.2", "a line of one space before", " \r\n" + rawGet(""), wantBad},
	{"9112 2.2", "a line of one NUL before", "\x00\r\n" + rawGet(""), wantBad},
	{"9112 2.2", "a bare CR before", "\r" + rawGet(""), wantBad},
	{"9112 2.2", "UTF-8's byte order mark before", "\xef\xbb\xbf" + rawGet(""), wantBad},
	{"9112 2.2", "a line that ends in bare LF", "GET /healthz HTTP/1.1\nHost: shop\r\n\r\n", wantBad},
	{"9112 2.2", "a line that ends in LF CR", "GET /healthz HTTP/1.1\n\rHost: shop\r\n\r\n", wantBad},
	{"9112 2.2", "a line that ends in two CRs", "GET /healthz HTTP/1.1\r\r\nHost: shop\r\n\r\n", wantBad},
	{"9112 2.2", "a line that ends in bare CR", "GET /healthz HTTP/1.1\rHost: shop\r\n\r\n", wantBad},

	// Other protocols.
	{"9112 2.2", "TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", wantBad},
	{"9112 2.2", "HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", wantBad + " or 505 close"},
	{"9112 2.2", "the PROXY protocol", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + rawGet(""), wantBad},
	{"9112 2.2", "Redis", "*1\r\n$4\r\nPING\r\n", wantBad},
	{"9112 2.2", "SMTP", "EHLO shop\r\n", wantBad},
},
	each("9112 3", "around the method", func(space string) string {
		return rawLine("GET" + space + "/healthz HTTP/1.1")
	}, wantBad, "  ", "\t", " \t", "\v", "\f", "\r", " \r", "\x00", "\u00a0", "\u2003", ""),
	each("9112 3", "behind the target", func(space string) string {
		return rawLine("GET /healthz" + space + "HTTP/1.1")
	}, wantBad, "  ", "\t", "\v", "\f", "\r", "\x00", "\u00a0", ""),
	each("9112 3", "before the method", func(space string) string {
		return rawLine(space + "GET /healthz HTTP/1.1")
	}, wantBad, " ", "\t", "\v", "\x00", "\x7f"),
	each("9112 3", "behind the version", func(space string) string {
		return rawLine("GET /healthz HTTP/1.1" + space)
	}, wantBad, " ", "\t", "\v", "\x00", ";"),

	// method = token, and it is case-sensitive (9110 9.1, 5.6.2).
	each("9110 9.1", "no method", func(method string) string {
		return rawLine(method + " /healthz HTTP/1.1")
	}, wantBad, "G(T", "GET:", "GET,", "G/T", "[GET]", `"GET"`, "G\x00ET", "G\x01ET", "G\x7fT", "G\xffT", "GÉT",
		"{}", "G=T", "GET;", "G@T", `G\ET`, "<GET>"),
	// A method that is not known should get 501 (9110 9.1), one that the path does not know 405 (15.5.6).
	each("9110 9.1", "a strange method", func(method string) string {
		return rawLine(method + " /healthz HTTP/1.1")
	}, "NO_METHOD keep or 501 keep or 501 close", "get", "Get", "GETS", "GE", "BREW", "M-SEARCH",
		"!#$%&'*+-.^_`|~", "0", "PROPFIND", "PURGE"),
)

// Forms of the request target (9112 3.2).
var targetProbes = slices.Concat([]rawProbe{
	{"9112 3.2.2", "absolute", rawLine("GET http://shop/healthz HTTP/1.1"), wantAlive},
	{"9112 3.2.2", "absolute, scheme in capitals", rawLine("GET HTTP://shop/healthz HTTP/1.1"), wantAlive},
	{"9112 3.2.2", "absolute with a port", rawLine("GET http://shop:80/healthz HTTP/1.1"), wantAlive},
	{"9112 3.2.2", "absolute with a query", rawLine("GET http://shop/healthz?a=/b HTTP/1.1"), wantAlive},
	{"9112 3.2.2", "absolute, IPv6", rawLine("GET http://[::1]:80/healthz HTTP/1.1"), wantAlive},
	{"9112 3.2.2", "absolute without a path", rawLine("GET http://shop HTTP/1.1"), mayAbsent},
	// The Host field is ignored then; a server may as well suspect it.
	{"9112 3.2.2", "absolute of another host", rawLine("GET http://other/healthz HTTP/1.1"),
		mayAlive + " or 421 close"},
	{"9112 3.2.2", "absolute without Host", "GET http://shop/healthz HTTP/1.1\r\n\r\n", wantBad},
	{"9112 3.2.2", "absolute with two Hosts", rawLine("GET http://shop/healthz HTTP/1.1\r\nHost: shop"),
		wantBad},
	{"9110 4.2.2", "absolute, https on a plain port", rawLine("GET https://shop/healthz HTTP/1.1"),
		mayAlive + " or 421 close"},

	{"9112 3.2.4", "asterisk of GET", rawLine("GET * HTTP/1.1"), wantBad},
	{"9112 3.2.4", "asterisk of POST", rawLine("POST * HTTP/1.1"), wantBad},
	{"9112 3.2.4", "asterisk of HEAD", rawLine("HEAD * HTTP/1.1"), wantBad},
	{"9112 3.2.4", "asterisk of OPTIONS", rawLine("OPTIONS * HTTP/1.1"), "204 keep"},
	{"9112 3.2.4", "asterisk of OPTIONS with a body",
		"OPTIONS * HTTP/1.1\r\nHost: shop\r\nContent-Length: 2\r\n\r\n{}", "204 keep"},
	{"9112 3.2.4", "asterisk and more", rawLine("OPTIONS *x HTTP/1.1"), wantBad},
	{"9112 3.2.4", "two asterisks", rawLine("OPTIONS ** HTTP/1.1"), wantBad},
	{"9112 3.2.4", "asterisk and a query", rawLine("OPTIONS *?x HTTP/1.1"), wantBad},
	{"9112 3.2.4", "asterisk as a path", rawLine("OPTIONS /* HTTP/1.1"), wantAbsent},

	// Whatever CONNECT gets, it opens no tunnel.
	{"9112 3.2.3", "authority", rawLine("CONNECT shop:80 HTTP/1.1"),
		"NOT_FOUND keep or NO_METHOD keep or NOT_FOUND close or NO_METHOD close or 501 close or " +
			wantBad},
	{"9112 3.2.3", "CONNECT of a path", rawLine("CONNECT /healthz HTTP/1.1"),
		"NO_METHOD keep or 501 close or " + wantBad},
},
	each("9112 3.2", "no form of a target", func(target string) string {
		return rawLine("GET " + target + " HTTP/1.1")
	}, wantBad, "healthz", "shop:80", "shop/healthz", "?a=b", `\healthz`, ";/healthz", "./healthz", ":",
		"@/healthz", "http://", "http:///healthz", "http://[/healthz", "http://[::1/healthz", "http://:80/healthz",
		"://shop/healthz", "http:/healthz", "http:healthz", "http//shop/healthz"),
	each("9110 4.2.4", "absolute with user information", func(user string) string {
		return rawLine("GET http://" + user + "@shop/healthz HTTP/1.1")
	}, wantBad, "me", "me:secret", "", "shop:80"),
	each("9112 3.2.2", "absolute, host invalid", func(host string) string {
		return rawLine("GET http://" + host + "/healthz HTTP/1.1")
	}, wantBad, "shop:x", "shop:80:80", `shop\evil`, "shop^", "sh|op", "sh\xe7op", "<shop>", "sh%zzop"),

	// 0x00 to 0x20, 0x7F and bytes above stand in no target.
	each("9112 3.2", "control byte in a path", func(c string) string {
		return rawLine("GET /health" + c + "z HTTP/1.1")
	}, wantBad, "\x00", "\x01", "\a", "\b", "\t", "\v", "\f", "\r", "\x1b", "\x1f", " ", "\x7f"),
	each("9112 3.2", "control byte in a query", func(c string) string {
		return rawLine("GET /healthz?a" + c + "z HTTP/1.1")
	}, wantBad, "\x00", "\x01", "\t", "\v", "\r", "\x1f", " ", "\x7f"),
	// A fragment is no part of it. What follows the sign must not be cut off: a proxy's rule saw it.
	each("9112 3.2", "fragment", func(target string) string {
		return rawLine("GET " + target + " HTTP/1.1\r\nAccess-Token: {root}")
	}, mayAbsent, "/healthz#", "/healthz#a", "/admin/orders#/foods", "/#/healthz"),
	// Browsers do send these in queries (RFC 3986 does not have them).
	each("9112 3.2", "in a query", func(c string) string {
		return rawLine("GET /healthz?a=" + c + " HTTP/1.1")
	}, mayAlive, `"`, "<", ">", `\`, "^", "`", "{", "|", "}", "[", "]", "%", "%z", "%00", "é", "\xff", "#"),
)

// HTTP-version = "HTTP/" DIGIT "." DIGIT, in capitals (9112 2.3).
var versionProbes = slices.Concat([]rawProbe{
	{"9112 2.3", "HTTP/0.9", "GET /healthz\r\n\r\n", wantBad},
	{"9112 2.3", "HTTP/0.9 with fields", rawLine("GET /healthz"), wantBad},
	{"9112 C.2.1", "HTTP/1.0 without Host", "GET /healthz HTTP/1.0\r\n\r\n", "alive close"},
	{"9112 9.3", "HTTP/1.0", rawLine("GET /healthz HTTP/1.0"), "alive close"},
	{"9112 9.3", "HTTP/1.0 with a length", "POST /login HTTP/1.0\r\n" + rawLength + "\r\n" + rawLogin,
		"login close"},
	{"9112 6.3", "HTTP/1.0 without a length", "POST /login HTTP/1.0\r\n\r\n", "EMPTY_REQUEST close"},
	{"9112 6.1", "HTTP/1.0 with chunks", "POST /login HTTP/1.0\r\nHost: shop\r\n" + rawChunked + "\r\n" +
		rawOneShot, wantBad},
	{"9112 6.1", "HTTP/1.0 with chunks, kept alive", "POST /login HTTP/1.0\r\nConnection: keep-alive\r\n" +
		rawChunked +
		"\r\n" + rawOneShot, wantBad},
	{"9110 10.1.1", "HTTP/1.0 with Expect", "POST /login HTTP/1.0\r\nExpect: 100-continue\r\n" + rawLength +
		"\r\n" + rawLogin,
		"login close"},
	{"9112 2.3", "HTTP/1.0, then HTTP/1.1 on a connection kept alive",
		"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + rawGet(""),
		"alive alive keep or alive close"},
	{"9112 2.3", "HTTP/1.1, then HTTP/1.0", rawGet("") + "GET /healthz HTTP/1.0\r\n\r\n",
		"alive alive close"},
},
	// A higher minor version may be read as HTTP/1.1 (9110 2.5).
	each("9110 2.5", "minor version", func(version string) string {
		return rawLine("GET /healthz " + version)
	}, mayAlive+" or 505 close", "HTTP/1.2", "HTTP/1.9"),
	each("9110 2.5", "major version", func(version string) string {
		return rawLine("GET /healthz " + version)
	}, wantBad+" or 505 close", "HTTP/0.9", "HTTP/0.0", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9"),
	each("9112 2.3", "no version", func(version string) string {
		return rawLine("GET /healthz " + version)
	}, wantBad, "http/1.1", "Http/1.1", "HTTP/1", "HTTP/2", "HTTP/1.", "HTTP/.1", "HTTP/", "HTTP", "HTTP/1.10",
		"HTTP/1.01", "HTTP/01.1", "HTTP/11.1", "HTTP/1,1", "HTTP/1.x", "HTTP/+1.1", "HTTP/1.-1", "HTTP/1.1.1",
		"HTTP/1.1\x00", "HTTPS/1.1", "HTP/1.1", "HTTP /1.1", "HTTP/ 1.1", "HTTP/1 .1", "ICE/1.0", "HTTP/1.1;x",
		"HTTP\\1.1", "HTTP/１.１", "RTSP/1.1", "1.1"),
)
