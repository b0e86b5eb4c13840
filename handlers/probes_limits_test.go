package handlers

import (
	"slices"
	"strings"
)

// The limits of most calls, as a client counts them: 1 KB of URL, 8 KB of head, 100 fields, 1 KB of body.
func rawPath(bytes int) string { return "/" + strings.Repeat("a", bytes-1) }

func rawFields(count int) string { return strings.Repeat("a: b\r\n", count) }

func rawSpaces(count int) string { return strings.Repeat(" ", count) }

// rawPadded is a login with this number of bytes.
func rawPadded(bytes int) string { return rawLogin + rawSpaces(bytes-len(rawLogin)) }

// rawHead is a request with this number of bytes.
func rawHead(bytes int) string {
	return rawGet("X: " + strings.Repeat("a", bytes-len(rawGet("X: \r\n"))) + "\r\n")
}

// rawPieces sends data in chunks of this number of bytes.
func rawPieces(data string, bytes int) string {
	var chunks strings.Builder
	for chunk := range slices.Chunk([]byte(data), bytes) {
		chunks.WriteString(rawChunk(string(chunk)))
	}
	return rawChunks(chunks.String() + "0\r\n\r\n")
}

const rawLongest = "Content-Length: 32768\r\n"

const mayBeTooLarge = wantLogin + " or BODY_TOO_LARGE close"

var limitProbes = []rawProbe{
	{"9110 15.5.15", "longest URL", rawCall("GET", rawPath(1024), "", ""), wantAbsent},
	{"9110 15.5.15", "longest URL with a query", rawCall("GET", "/healthz?"+strings.Repeat("a", 1024-9), "",
		""), wantAlive},
	{"9110 15.5.15", "URL one byte too long", rawCall("GET", rawPath(1025), "", ""), "URL_TOO_LONG close"},
	{"9110 15.5.15", "query too long", rawCall("GET", "/healthz?"+strings.Repeat("a", 1024-8), "", ""),
		"URL_TOO_LONG close"},
	{"9110 15.5.15", "URL too long of a POST", rawCall("POST", rawPath(2000), rawLength, rawLogin),
		"URL_TOO_LONG close"},
	// Both limits are passed.
	{"9112 3", "URL of 1 MB", rawCall("GET", rawPath(1<<20), "", ""),
		"URL_TOO_LONG close or HEAD_TOO_LARGE close"},
	{"9112 3", "method of 9 KB", rawCall(strings.Repeat("A", 9000), "/healthz", "", ""),
		"501 close or HEAD_TOO_LARGE close or " + wantBad},

	{"6585 5", "longest head", rawHead(8 << 10), wantAlive},
	{"6585 5", "head one byte too long", rawHead(8<<10 + 1), "HEAD_TOO_LARGE close"},
	{"6585 5", "head of 2 MB", rawHead(2 << 20), "HEAD_TOO_LARGE close"},
	{"6585 5", "head too long of a POST", rawPost(rawLength+"X: "+strings.Repeat("a", 9000)+"\r\n",
		rawLogin), "HEAD_TOO_LARGE close"},
	{"6585 5", "100 fields", rawGet(rawFields(99)), wantAlive},
	{"6585 5", "101 fields", rawGet(rawFields(100)), "HEAD_TOO_LARGE close"},
	{"6585 5", "101 fields of a POST", rawPost(rawLength+rawFields(100), rawLogin), "HEAD_TOO_LARGE close"},

	{"9110 15.5.14", "longest body", rawPost("Content-Length: 1024\r\n", rawPadded(1024)), wantLogin},
	{"9110 15.5.14", "body one byte too long", rawPost("Content-Length: 1025\r\n", rawPadded(1025)),
		"BODY_TOO_LARGE close"},
	{"9110 15.5.14", "body of 3 MB", rawPost("Content-Length: 3000000\r\n", rawPadded(3000000)),
		"BODY_TOO_LARGE close"},
	{"9110 15.5.14", "body too long of a GET", rawCall("GET", "/healthz", "Content-Length: 33000\r\n",
		rawSpaces(33000)), "BODY_TOO_LARGE close"},
	{"9110 15.5.14", "body too long in HTTP/1.0", "POST /login HTTP/1.0\r\nContent-Length: 33000\r\n\r\n" +
		rawSpaces(33000), "BODY_TOO_LARGE close"},
	{"9110 15.5.14", "half a body in chunks", rawPieces(rawPadded(512), 100), wantLogin},
	{"9110 15.5.14", "longest body with the lines of its chunk", rawPieces(rawPadded(1014), 1014), wantLogin},
	{"9110 15.5.14", "longest head and body of a call with long ones", rawCall("POST", "/long",
		rawLongest+"X: "+strings.Repeat("a", 8<<10-len(rawCall("POST", "/long", rawLongest+"X: \r\n", "")))+
			"\r\n", rawSpaces(32<<10)), "200 keep"},
	{"9110 15.5.14", "body one byte too long of a call with long ones", rawLong(32<<10 + 1),
		"BODY_TOO_LARGE close"},
	{"9110 15.5.14", "longest chunk of a call with long ones", strings.Replace(
		rawPieces(rawSpaces(32<<10-11), 32<<10-11), "/login", "/long", 1), "200 keep"},
	// Of a body in chunks the lines may count as well.
	{"9110 15.5.14", "longest body in chunks", rawPieces(rawPadded(1024), 512), mayBeTooLarge},
	{"9110 15.5.14", "longest body in chunks of one byte", rawPieces(rawPadded(1024), 1), mayBeTooLarge},
	{"9110 15.5.14", "chunks of 1 MB", rawPieces(rawPadded(1<<20), 1<<10), "BODY_TOO_LARGE close"},

	// Extensions and trailers have limits (9112 7.1.1, 7.1.2).
	{"9112 7.1.1", "extension of 1 MB", rawChunkLine("27;a=" + strings.Repeat("b", 1<<20)), wantLimit},
	{"9112 7.1.1", "extension of 900 bytes with every byte", rawExtended(";a=" + strings.Repeat("b", 900)),
		wantLimit},
	{"9112 7.1", "size of 1 MB of zeros", rawChunkLine(strings.Repeat("0", 1<<20) + "27"), wantLimit},
	{"9112 7.1.2", "trailer of 1 MB", rawTrailers("X: " + strings.Repeat("a", 1<<20) + "\r\n"), wantLimit},
	{"9112 7.1.2", "20,000 trailers", rawTrailers(rawFields(20000)), wantLimit},
	{"9112 2.2", "20,000 empty lines", strings.Repeat("\r\n", 20000) + rawGet(""),
		mayAlive + " or HEAD_TOO_LARGE close"},
}
