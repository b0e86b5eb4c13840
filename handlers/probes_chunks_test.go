package handlers

import (
	"slices"
	"strings"
)

// rawChunkLine sends the body as one chunk under this line.
func rawChunkLine(line string) string { return rawChunks(line + "\r\n" + rawLogin + "\r\n0\r\n\r\n") }

// rawFirstChunk sends the body's first five bytes in a chunk that is written as given.
func rawFirstChunk(chunk string) string {
	return rawChunks(chunk + "22\r\n" + rawLogin[5:] + "\r\n0\r\n\r\n")
}

// rawExtended sends the body in chunks of one byte, each with the extension.
func rawExtended(extension string) string {
	var chunks strings.Builder
	for _, c := range []byte(rawLogin) {
		chunks.WriteString("1" + extension + "\r\n" + string(c) + "\r\n")
	}
	return rawChunks(chunks.String() + "0\r\n\r\n")
}

// chunk = 1*HEXDIG [ chunk-ext ] CRLF chunk-data CRLF (9112 7.1); what is anything else gets 400 and a
// close. A list of chunk lines that servers were smuggled through: "Funky chunks" (2025) and http-garden.
var chunkProbes = slices.Concat([]rawProbe{
	{"9112 7.1", "several", rawFirstChunk("5\r\n" + rawLogin[:5] + "\r\n"), wantLogin},
	{"9112 7.1", "of one byte each", rawExtended(""), wantLogin},
	{"9112 7.1", "size in a capital", rawChunks("A\r\n" + rawLogin[:10] + "\r\n1D\r\n" + rawLogin[10:] +
		"\r\n0\r\n\r\n"), wantLogin},
	{"9112 7.1", "size in a small letter", rawChunks("a\r\n" + rawLogin[:10] + "\r\n1d\r\n" +
		rawLogin[10:] + "\r\n0\r\n\r\n"), wantLogin},
	{"9112 7.1", "last chunk of zeros", rawChunks("27\r\n" + rawLogin + "\r\n000\r\n\r\n"), wantLogin},
	{"9112 7.1", "none", rawChunks("0\r\n\r\n"), "EMPTY_REQUEST keep"},
	{"9112 7.1", "CRLF in the data", rawChunks("29\r\n\r\n" + rawLogin + "\r\n0\r\n\r\n"), wantLogin},
	{"9112 7.1", "data like a last chunk", rawChunks("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), "MALFORMED_JSON keep"},
	{"9112 7.1.1", "last chunk with an extension", rawChunks("27\r\n" + rawLogin + "\r\n0;a=b\r\n\r\n"),
		wantLogin},
	{"9112 7.1.1", "an extension each", rawExtended(";a=b"), wantLogin},

	// The end of the data.
	{"9112 7.1", "no CRLF behind the data", rawChunks("27\r\n" + rawLogin + "0\r\n\r\n"), wantBad},
	{"9112 7.1", "LF behind the data", rawChunks("27\r\n" + rawLogin + "\n0\r\n\r\n"), wantBad},
	{"9112 7.1", "CR behind the data", rawChunks("27\r\n" + rawLogin + "\r0\r\n\r\n"), wantBad},
	{"9112 7.1", "LF CR behind the data", rawChunks("27\r\n" + rawLogin + "\n\r0\r\n\r\n"), wantBad},
	{"9112 7.1", "CR and another byte behind the data", rawChunks("27\r\n" + rawLogin + "\rX0\r\n\r\n"),
		wantBad},
	{"9112 7.1", "two bytes for the CRLF", rawChunks("27\r\n" + rawLogin + "XX0\r\n\r\n"), wantBad},
	{"9112 7.1", "two CRLFs behind the data", rawChunks("27\r\n" + rawLogin + "\r\n\r\n0\r\n\r\n"),
		wantBad},
	{"9112 7.1", "space behind the data", rawChunks("27\r\n" + rawLogin + " \r\n0\r\n\r\n"), wantBad},
	{"9112 7.1", "size one too small", rawChunkLine("26"), wantBad},
	{"9112 7.1", "size one too large", rawChunkLine("28"), wantBad},
	{"9112 7.1", "size two too large", rawChunkLine("29"), wantBad},
	{"9112 7.1", "size taken as decimal", rawChunkLine("39"), wantBad},

	// The last chunk.
	{"9112 7.1", "last chunk in bare LF", rawChunks("27\r\n" + rawLogin + "\r\n0\n\n"), wantBad},
	{"9112 7.1", "last chunk, then bare LF", rawChunks("27\r\n" + rawLogin + "\r\n0\r\n\n"), wantBad},
	{"9112 7.1", "last chunk in bare LF, then CRLF", rawChunks("27\r\n" + rawLogin + "\r\n0\n\r\n"),
		wantBad},
	{"9112 7.1", "last chunk, then CR and another byte", rawChunks("27\r\n" + rawLogin + "\r\n0\r\n\rX"),
		wantBad},
	{"9112 7.1", "last chunk, then CR CR LF", rawChunks("27\r\n" + rawLogin + "\r\n0\r\n\r\r\n"), wantBad},
	{"9112 7.1", "last chunk without an empty line", rawChunks("27\r\n" + rawLogin + "\r\n0\r\n"), wantBad},
	{"9112 7.1", "no last chunk", rawChunks("27\r\n" + rawLogin + "\r\n"), wantBad},
	{"9112 7.1", "last chunk first", rawChunks("0\r\n\r\n27\r\n" + rawLogin + "\r\n0\r\n\r\n"),
		"EMPTY_REQUEST BAD_REQUEST close"},
	{"9112 7.1", "last chunk with a space", rawChunks("27\r\n" + rawLogin + "\r\n0 \r\n\r\n"), wantBad},
	{"9112 7.1", "negative last chunk", rawChunks("27\r\n" + rawLogin + "\r\n-0\r\n\r\n"), wantBad},
	{"9112 7.1", "empty last chunk", rawChunks("27\r\n" + rawLogin + "\r\n\r\n\r\n"), wantBad},

	// Lines of several chunks.
	{"9112 7.1", "bare LF behind the first size", rawFirstChunk("5\n" + rawLogin[:5] + "\r\n"), wantBad},
	{"9112 7.1", "bare CR behind the first size", rawFirstChunk("5\r" + rawLogin[:5] + "\r\n"), wantBad},
	{"9112 7.1", "an empty line before a chunk", rawFirstChunk("5\r\n" + rawLogin[:5] + "\r\n\r\n"),
		wantBad},
	{"9112 7.1", "sizes that overflow together", rawFirstChunk("1\r\n{\r\n7fffffffffffffff\r\n"),
		"BODY_TOO_LARGE close or " + wantBad},
	{"9112 7.1.1", "a line hidden behind LF in an extension", rawFirstChunk("5;\n" + rawLogin[:5] + "\r\n"),
		wantBad},
	{"9112 7.1.1", "a request hidden in an extension", rawChunkLine("27;a=\"\nGET /healthz HTTP/1.1\""),
		wantBad},
},
	each("9112 7.1", "line", rawChunkLine, wantLogin, "27", "027", "0027", "00000027"),
	each("9112 7.1.1", "line", rawChunkLine, wantLogin, "27;a", "27;a=b", `27;a="q"`, "27;a;b", "27;a=b;c=d",
		`27;a="q;r"`, `27;a=""`, `27;a="q\"r"`, `27;a="q\\"`, "27;a=1;b", "27;!#$%&'*+-.^_`|~=0", `27;a="b c	d"`,
		"27;a="+strings.Repeat("b", 64)),
	// Bad white space must be parsed (7.1.1), but a line with a space has two readings. Neither obs-text
	// nor that many zeros are of use to a client.
	each("9112 7.1.1", "line", rawChunkLine, mayLogin, "27 ;a=b", "27; a=b", "27;a =b", "27;a= b",
		"27\t;\ta\t=\tb", `27;a="é"`, `27;a="\é"`, "0000000000000000000000000027"),
	each("9112 7.1", "line", rawChunkLine, wantBad, "", " ", "27 ", " 27", "27\t", "\t27", "27  ", "0x27",
		"0X27", "x27", "+27", "-27", "-1", "--27", "27h", "2 7", "27 27", "2_7", "27.0", "27,", "27,0", "27,a=b",
		"zz", "G", "27g", `"27"`, "'27'", "(27)", "27:", "27=", "27/", "$27", "\\27", "27\v", "\v27", "27\f",
		"27\x00", "\x0027", "27\r", "\r27", "27\x01", "27\x7f", "27\u00a0", "27\xff", "２７", "٢٧", "27\n", "\n27",
		"2\r7", "2\n7", "\r\n27", "%32%37", "27#", "27 a=b"),
	each("9112 7.1.1", "line", rawChunkLine, wantBad, "27;", "27; ", "27 ;", "27;;", "27;;a", "27;a;",
		"27;a;;b", "27;=", "27;=b", "27;a=", "27;a=;b", "27;a==b", "27;a=b=c", "27;a b", "27;a=b c", "27;bad[=x",
		"27;a=[", "27;a(b", "27;a,b", "27;a/b", "27;a@b", "27;é=b", "27;a=é", "27;a\xff", `27;a="q`, `27;a=q"`,
		`27;"a"=b`, `27;a="q"r`, `27;a="q\`, `27;a="q""r"`, "27;a='b;", "27;\x00ext", "27;a\x00b", "27;a=\x00",
		"27;a=\"\x00\"", "27;a=\"\x01\"", "27;a=\"\x7f\"", "27;\x01", "27;a\v", "27;a\rb", "27;a=\"\r\"", "27;a\r",
		"27;\r", "27;a\nb", "27;a=\"\n\"", "27;a\n", "27;\n", "27;a=b\n", "27;a\x7f", "27;a{b}", "27;:", "27;a:b"),
	// Sizes that only fit an integer by losing digits.
	each("9112 7.1", "size", rawChunkLine, "BODY_TOO_LARGE close or "+wantBad, "7fffffff", "80000000",
		"ffffffff", "100000000", "100000027", "7fffffffffffffff", "8000000000000000", "ffffffffffffffff",
		"fffffffffffffffe", "10000000000000000", "10000000000000027", "ffffffffffffffffffffffffffffffff",
		"f00000000000000000000000000000000000000027"),
)

func rawTrailers(lines string) string {
	return rawChunks("27\r\n" + rawLogin + "\r\n0\r\n" + lines +
		"\r\n")
}

// Trailers are field lines like those of the head (9112 7.1.2), dropped or refused, never merged into it
// (9110 6.5.1).
var trailerProbes = slices.Concat([]rawProbe{
	{"9110 6.5.1", "a token", "POST /carts HTTP/1.1\r\nHost: shop\r\n" + rawChunked +
		"\r\n2\r\n{}\r\n0\r\nAccess-Token: {token}\r\n\r\n",
		"INVALID_TOKEN keep or " + wantBad},
	{"9110 6.5.1", "a token of root", "GET /admin/orders HTTP/1.1\r\nHost: shop\r\n" + rawChunked +
		"\r\n0\r\nAccess-Token: {root}\r\n\r\n",
		"INVALID_TOKEN keep or " + wantBad},
	{"9112 7.1.2", "announced", rawPost("Trailer: X\r\n"+rawChunked,
		"27\r\n"+rawLogin+"\r\n0\r\nX: a\r\n\r\n"), wantLogin},
	{"9112 7.1.2", "announced and not there", rawPost("Trailer: X\r\n"+rawChunked, rawOneShot), wantLogin},
	{"9112 7.1.2", "a request for trailers", rawTrailers("GET /healthz HTTP/1.1\r\nHost: shop\r\n"),
		wantBad},
},
	each("9112 7.1.2", "taken", rawTrailers, wantLogin, "X: a\r\n", "X: a\r\nY: b\r\n", "X:\r\n", "X:a\r\n",
		"X: \t a \t\r\n", "X: a\tb\r\n", "X: é\r\n", "Digest: sha-256=abc\r\n",
		"x-checksum: 1\r\nx-checksum: 2\r\n", "x!#$%&'*+-.^_`|~: a\r\n"),
	// What frames, routes or authenticates must not come in a trailer (9110 6.5.1); it is ignored or
	// refused.
	each("9110 6.5.1", "forbidden", rawTrailers, mayLogin, "Content-Length: 5\r\n", "Content-Length: x\r\n",
		"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n", "Host: evil\r\n", "Connection: close\r\n",
		"Expect: 100-continue\r\n", "X-Forwarded-For: 192.0.2.1\r\n", "Trailer: X\r\n",
		"Content-Type: text/plain\r\n", "Authorization: x\r\n", "Idempotency-Key: x\r\n", "TE: x\r\n",
		"Upgrade: h2c\r\n"),
	each("9112 5.2", "folded", rawTrailers, wantBad, "X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "X: a\r\n \r\n",
		"X:\r\n a\r\n", " X: a\r\n", "\tX: a\r\n", " \r\n", "X: a\r\n Y: b\r\n"),
	each("9112 5.1", "space before the colon", rawTrailers, wantBad, "X : a\r\n", "X\t: a\r\n",
		"X: a\r\nY : b\r\n"),
	each("9112 2.2", "bare LF or CR", rawTrailers, wantBad, "X: a\n", "X: a\nY: b\r\n", "X: a\r\nY: b\n", "\n",
		"X: a\rY: b\r\n", "X: a\r\r\n", "\rX: a\r\n", "X: a\n\r", "\r", "X\r\n", "X: a\r\n\n"),
	each("9110 5.1", "no field", rawTrailers, wantBad, "X\r\n", "Xab cd\r\n", ": a\r\n", ":\r\n", "X a: b\r\n",
		"X\x00: a\r\n", "X: a\x00b\r\n", "(X): a\r\n", "X/Y: a\r\n", "\"X\": a\r\n", "é: a\r\n", "X\x01: a\r\n",
		"X\x7f: a\r\n", "\x00\r\n"),
)
