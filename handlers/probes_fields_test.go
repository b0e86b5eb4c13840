package handlers

import (
	"slices"
	"strings"
)

// field-line = field-name ":" OWS field-value OWS (9112 5). What does not match the grammar gets 400 (9112
// 2.2): a proxy that reads it otherwise would see another request.
var fieldProbes = slices.Concat([]rawProbe{
	{"9112 5", "ordinary", rawGet("Accept: */*\r\nUser-Agent: x\r\n"), wantAlive},
	{"9112 5", "empty value", rawGet("X:\r\n"), wantAlive},
	{"9112 5", "value of white space", rawGet("X: \t \r\n"), wantAlive},
	{"9112 5", "colons in a value", rawGet("X: a:b:c\r\n"), wantAlive},
	{"9112 5.1", "no space behind the colon", rawGet("X:a\r\n"), wantAlive},
	{"9110 5.3", "the same field twice", rawGet("X: a\r\nX: b\r\n"), wantAlive},
	{"9110 5.5", "tab in a value", rawGet("X: a\tb\r\n"), wantAlive},
	{"9110 5.5", "UTF-8 in a value", rawGet("X: 篮子\r\n"), wantAlive},
	{"9110 5.5", "Latin-1 in a value", rawGet("X: \xe9\r\n"), wantAlive},
	{"9110 5.5", "punctuation in a value", rawGet("X: \"(),/:;<=>?@[\\]{}\r\n"), wantAlive},
	{"9110 5.6.2", "every character of a token in a name", rawGet("x!#$%&'*+-.^_`|~09AZ: a\r\n"),
		wantAlive},

	{"9112 5", "no colon", rawGet("Xab\r\n"), wantBad},
	{"9112 5", "no colon and a space", rawGet("X ab\r\n"), wantBad},
	{"9112 5", "no name", rawGet(": a\r\n"), wantBad},
	{"9112 5", "a colon alone", rawGet(":\r\n"), wantBad},
	{"9112 5", "a request line as a field", rawGet("GET /foods HTTP/1.1\r\n"), wantBad},

	// obs-fold: refused or replaced by spaces (9112 5.2); nothing that can be read in two ways is taken.
	{"9112 5.2", "folded by a space", rawGet("X: a\r\n b\r\n"), wantBad},
	{"9112 5.2", "folded by a tab", rawGet("X: a\r\n\tb\r\n"), wantBad},
	{"9112 5.2", "folded twice", rawGet("X: a\r\n b\r\n c\r\n"), wantBad},
	{"9112 5.2", "folded with a colon", rawGet("X: a\r\n Y: b\r\n"), wantBad},
	{"9112 5.2", "folded to nothing", rawGet("X: a\r\n \r\n"), wantBad},
	{"9112 5.2", "folded behind nothing", rawGet("X:\r\n a\r\n"), wantBad},
	{"9112 5.2", "folded at the end", rawGet("X: a\r\n \t\r\n"), wantBad},
	{"9112 2.2", "white space behind the request line",
		"GET /healthz HTTP/1.1\r\n X: a\r\nHost: shop\r\n\r\n", wantBad},
	{"9112 2.2", "a tab behind the request line", "GET /healthz HTTP/1.1\r\n\tX: a\r\nHost: shop\r\n\r\n",
		wantBad},

	// Ends of lines.
	{"9112 2.2", "bare LF behind a field", rawGet("X: a\nY: b\r\n"), wantBad},
	{"9112 2.2", "bare LF behind the last field", rawGet("X: a\n"), wantBad},
	{"9112 2.2", "bare LF at the end of the head", "GET /healthz HTTP/1.1\r\nHost: shop\r\n\n", wantBad},
	{"9112 2.2", "bare LF in every line", "GET /healthz HTTP/1.1\nHost: shop\n\n", wantBad},
	{"9112 2.2", "bare LF, then CRLF at the end", "GET /healthz HTTP/1.1\nHost: shop\nX: a\n\r\n", wantBad},
	{"9112 2.2", "bare CR behind a field", rawGet("X: a\rY: b\r\n"), wantBad},
	{"9112 2.2", "two CRs behind a field", rawGet("X: a\r\r\n"), wantBad},
	{"9112 2.2", "bare CR before a field", rawGet("\rX: a\r\n"), wantBad},
	{"9112 2.2", "bare CR as a line", rawGet("X: a\r\n\r\r\n"), wantBad},
	{"9112 2.2", "bare CR in every line", "GET /healthz HTTP/1.1\rHost: shop\r\r", wantBad},
	{"9112 2.2", "LF CR behind a field", rawGet("X: a\n\rY: b\r\n"), wantBad},
	{"9112 2.2", "CR and something at the end of the head", "GET /healthz HTTP/1.1\r\nHost: shop\r\n\rX",
		wantBad},
},
	each("9112 5.1", "between name and colon", func(space string) string {
		return rawGet("X" + space + ": a\r\n")
	}, wantBad, " ", "\t", "  ", "\v", "\f", "\r", "\x00", "\u00a0", "\r\n ", "\n"),
	each("9110 5.1", "in a name", func(c string) string {
		return rawGet("X" + c + "a: b\r\n")
	}, wantBad, " ", "\t", "\x00", "\x01", "\v", "\f", "\r", "\x1f", "\x7f", "\x80", "\xff", "é", "(", ")", ",",
		"/", ";", "<", "=", ">", "?", "@", "[", `\`, "]", "{", "}", `"`),
	each("9110 5.1", "before a name", func(c string) string {
		return rawGet("A: b\r\n" + c + "X: a\r\n")
	}, wantBad, "\x00", "\v", "\f", "\r", "\x7f", "\u00a0", "\ufeff", `"`, "("),
	// CR, LF and NUL in a value are refused or become spaces (9110 5.5).
	each("9110 5.5", "in a value", func(c string) string {
		return rawGet("X: a" + c + "b\r\n")
	}, wantBad, "\x00", "\r", "\n", "\r\r", "\n\n", "\nY: "),
	// Other control bytes are invalid, but may be kept where they do no harm (9110 5.5).
	each("9110 5.5", "control byte in a value", func(c string) string {
		return rawGet("X: a" + c + "b\r\n")
	}, mayAlive, "\x01", "\b", "\v", "\f", "\x1b", "\x1f", "\x7f"),
)

// A head that will never get its empty line is refused when that is clear, not when time is up.
var unfinishedProbes = []rawProbe{
	{"9112 2.2", "head in bare LF", "GET /healthz HTTP/1.1\nHost: shop\n\n", wantBad},
	{"9112 2.2", "head in bare LF of a POST", "POST /login HTTP/1.1\nHost: shop\n" +
		strings.ReplaceAll(rawLength, "\r", "") +
		"\n" + rawLogin, wantBad},
	{"9112 2.2", "head with bare LF at its end", "GET /healthz HTTP/1.1\r\nHost: shop\r\n\n", wantBad},
	{"9112 2.2", "head with one CRLF", "GET /healthz HTTP/1.1\r\nHost: shop\n\n", wantBad},
	{"9112 2.2", "field in bare LF", getHead + "X: a\n", wantBad},
	{"9112 5.2", "field folded", getHead + "X: a\r\n b\r\n", wantBad},
	{"9112 2.2", "field folded before the first", getHead + " X: a\r\n", wantBad},
	{"9112 2.3", "version of no HTTP", "GET /healthz HTTP/9.9\r\n", wantBad + " or 505 close"},
	{"9112 7.1.1", "chunk extension that is none", rawChunks("27;\r\n"), wantBad},
	{"9112 2.2", "HTTP/1.0 in bare LF", "GET /healthz HTTP/1.0\n\n", wantBad},
	{"9112 7.1", "chunks in bare LF", rawChunks("27\n" + rawLogin + "\n0\n\n"), wantBad},
	{"9112 7.1", "last chunk in bare LF", rawChunks("27\r\n" + rawLogin + "\r\n0\n\n"), wantBad},
	{"9112 7.1", "bare LF behind the last chunk", rawChunks("27\r\n" + rawLogin + "\r\n0\r\n\n"), wantBad},
	{"9112 7.1", "chunk size that is none", rawChunks("zz\r\n"), wantBad},
	{"9112 7.1", "negative chunk size", rawChunks("-1\r\n"), wantBad},
	{"9112 7.1", "chunk too long for the body", rawChunks("8001\r\n"), "BODY_TOO_LARGE close"},
	{"9112 6.3", "length too long for a body", rawPost("Content-Length: 32769\r\n", ""),
		"BODY_TOO_LARGE close"},
	{"9112 6.3", "length that is none", rawPost("Content-Length: x\r\n", ""), wantBad},
	{"9112 6.1", "coding that is none", rawPost("Transfer-Encoding: xchunked\r\n", ""),
		wantBad + " or 501 close"},
	{"6585 5", "head without an end", "GET /healthz HTTP/1.1\r\nHost: shop\r\nX: " + strings.Repeat("a",
		9<<10), "HEAD_TOO_LARGE close"},
	{"9112 3", "request line without an end", "GET /" + strings.Repeat("a", 9<<10),
		"URL_TOO_LONG close or HEAD_TOO_LARGE close"},
}
