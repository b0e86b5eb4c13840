package handlers

import (
	"slices"
	"strings"
)

func rawLengthOf(value string) string { return rawPost("Content-Length:"+value+"\r\n", rawLogin) }

// rawWithBody sends the body in one piece behind these fields.
func rawWithBody(fields string) string { return rawPost(fields, rawLogin) }

// Content-Length = 1*DIGIT (9110 8.6). One that is invalid gets 400 and a close (9112 6.3): what follows
// might be a body or a request.
var lengthProbes = slices.Concat([]rawProbe{
	{"9112 6.2", "plain", rawPost(rawLength, rawLogin), wantLogin},
	{"9112 6.3", "zero", rawPost("Content-Length: 0\r\n", ""), "EMPTY_REQUEST keep"},
	{"9112 6.3", "none", rawPost("", ""), "EMPTY_REQUEST keep or 411 keep or 411 close"},
	{"9112 6.3", "none and a body", rawPost("", rawLogin+"\r\n\r\n"),
		"EMPTY_REQUEST BAD_REQUEST close or 411 close"},
	{"9112 6.3", "one too few", rawPost("Content-Length: 38\r\n", rawLogin),
		"MALFORMED_JSON BAD_REQUEST close"},
	{"9110 9.3.1", "of a GET", rawGet("Content-Length: 2\r\n") + "{}", wantAlive},
	{"9110 9.3.1", "zero of a GET", rawGet("Content-Length: 0\r\n"), wantAlive},
	{"9112 6.3", "invalid of a GET", rawGet("Content-Length: x\r\n"), wantBad},
},
	each("9110 5.1", "name", rawWithBody, wantLogin, "content-length: 39\r\n", "CONTENT-LENGTH: 39\r\n",
		rawLength+"Content_Length: 5\r\n", rawLength+"X-Content-Length: 5\r\n", rawLength+"ContentLength: 5\r\n"),
	each("9112 5", "odd line", rawWithBody, wantBad, "Content-Length : 39\r\n", "Content-Length:\r\n 39\r\n",
		rawLength+"Content-Length\v: 0\r\n", rawLength+"Content Length: 0\r\n", "X: a\r\n Content-Length: 39\r\n",
		"X: a\nContent-Length: 39\r\n", "X: a\rContent-Length: 39\r\n"),
	// Equal lengths are refused or count as one (9112 6.3); no other list is a length.
	each("9112 6.3", "two, equal", rawWithBody, mayLogin, rawLength+rawLength,
		rawLength+"content-length: 039\r\n", "Content-Length: 39, 39\r\n"),
	each("9112 6.3", "two, different", rawWithBody, wantBad, rawLength+"Content-Length: 0\r\n",
		"Content-Length: 0\r\n"+rawLength, rawLength+"Content-Length: 40\r\n", rawLength+"Content-Length: x\r\n",
		rawLength+"Content-Length:\r\n", rawLength+rawLength+"Content-Length: 5\r\n",
		rawLength+"A: b\r\nContent-Length: 1\r\n"),
	each("9112 5.1", "white space around", rawLengthOf, wantLogin, "39", "\t39", " \t39 \t ", " 039"),
	each("9110 8.6", "many leading zeros", rawLengthOf, mayLogin, " 0000000000000000000000000000000039"),
	each("9112 6.3", "invalid", rawLengthOf, wantBad, "", " x", " +39", " -39", " 0x27", " 39.0", " 3.9e1",
		" 3 9", " 3_9", ` "39"`, " 39;a=b", " 39,", " 39, 40", " 0,39", " %33%39", " 39\x00", " 39\v", " 39\r",
		" \u00a039", " ３９", " 39\n"),
	// Numbers that only fit an integer by losing digits.
	each("9110 8.6", "huge", rawLengthOf, "BODY_TOO_LARGE close or "+wantBad, " 2147483648", " 4294967335",
		" 9223372036854775807", " 9223372036854775808", " 18446744073709551655",
		" 99999999999999999999999999999999999999999"),
)

const wantNoCoding = wantBad + " or 501 close" // 501 for a coding that a server does not know (9112 6.1)

func rawCoding(value string) string { return rawCoded("Transfer-Encoding:" + value + "\r\n") }

// rawCoded sends the body in a chunk behind these fields.
func rawCoded(fields string) string { return rawPost(fields, rawOneShot) }

// rawCodingHidden has a coding that another reader may see, beside a length that is right without it.
func rawCodingHidden(field string) string { return rawPost(rawLength+field, rawLogin) }

// A request with a last coding other than chunked has no end that both sides agree on: 400 and close (9112
// 6.3). The variants come from "HTTP Desync Attacks" (PortSwigger), smuggler and http-garden.
var codingProbes = slices.Concat([]rawProbe{
	{"9112 7.1", "plain", rawPost(rawChunked, rawOneShot), wantLogin},
	{"9112 7.1", "of a GET", rawGet(rawChunked) + "0\r\n\r\n", wantAlive},
	{"9112 7.1", "of a GET with a body", rawGet(rawChunked) + "2\r\n{}\r\n0\r\n\r\n", wantAlive},
	{"9112 6.3", "both of a GET", rawGet("Content-Length: 5\r\n"+rawChunked) + "0\r\n\r\n", wantBad},
	{"9110 5.1", "Content-Encoding: chunked is no coding of the message",
		rawCodingHidden("Content-Encoding: chunked\r\n"), wantLogin + " or 415 keep or 415 close"},
},
	// Both: an attempt to smuggle; "ought to be handled as an error" (9112 6.3).
	each("9112 6.3", "both", rawCoded, wantBad, rawLength+rawChunked, rawChunked+rawLength,
		rawChunked+"Content-Length: 0\r\n", rawChunked+"Content-Length: x\r\n", rawChunked+"Content-Length:\r\n",
		"transfer-encoding: chunked\r\ncontent-length: 39\r\n", rawLength+"A: b\r\n"+rawChunked),
	// TE.TE: several lines are one list (9110 5.3), and nothing is chunked twice (9112 6.1).
	each("9112 6.1", "several", rawCoded, wantNoCoding, rawChunked+rawChunked,
		rawChunked+"transfer-encoding: CHUNKED\r\n", rawChunked+"Transfer-Encoding: identity\r\n",
		"Transfer-Encoding: identity\r\n"+rawChunked, "Transfer-encoding: cow\r\n"+rawChunked),
	each("9112 6.1", "empty elements", rawCoded, mayLogin+" or 501 close",
		rawChunked+"Transfer-Encoding:\r\n", "Transfer-Encoding: ,chunked\r\n"),
	each("9110 5.1", "another field", rawCodingHidden, wantLogin, "Transfer_Encoding: chunked\r\n",
		"TransferEncoding: chunked\r\n", "X-Transfer-Encoding: chunked\r\n", "TE: chunked, trailers\r\n",
		"X: Transfer-Encoding: chunked\r\n"),
	each("9112 5.1", "white space around", rawCoding, wantLogin, "chunked", "\tchunked", "\t \tchunked\t ",
		" cHuNkEd"),
	each("9112 6.1", "no coding that ends", rawCoding, wantNoCoding, "", " identity", " chunked, identity",
		" identity, chunked", " gzip, chunked", " chunked, gzip", " xchunked", " chunkedx", " x chunked",
		" chunked;q=1", ` "chunked"`, " [chunked]", " c hunked", ": chunked", " %63hunked"),
	each("9110 5.5", "odd bytes", rawCoding, wantNoCoding, " \vchunked", " chunked\v", " \x00chunked",
		" chunked\x00x", " chunked\r", " chunked\x7f", " \u00a0chunked", " chun\u212aed", " ＣＨＵＮＫＥＤ",
		" chunked\n", "\nchunked"),
	each("9110 5.1", "odd name", rawCodingHidden, wantBad, "Transfer-Encoding : chunked\r\n",
		"Transfer-Encoding\v: chunked\r\n", "Transfer-Encoding\x00: chunked\r\n",
		"Transfer-Encoding\r\n : chunked\r\n", "Transfer Encoding: chunked\r\n",
		"Transfer-Encoding chunked\r\n", " Transfer-Encoding: chunked\r\n", "\vTransfer-Encoding: chunked\r\n",
		`"Transfer-Encoding": chunked`+"\r\n", "Tran\u017ffer-Encoding: chunked\r\n",
		"X: a\nTransfer-Encoding: chunked\r\n", "X: a\rTransfer-Encoding: chunked\r\n"),
	each("9112 5.2", "folded", rawCoded, wantBad, "Transfer-Encoding:\r\n chunked\r\n",
		"Transfer-Encoding: chun\r\n ked\r\n", "Transfer-Encoding: chunked\r\n , identity\r\n",
		"X: a\r\n Transfer-Encoding: chunked\r\n"),
)

// rawChunkLine sends the body as one chunk under this line.
func rawChunkLine(line string) string { return rawChunks(line + "\r\n" + rawLogin + "\r\n0\r\n\r\n") }

// rawBehindData sends the body's data in a chunk, and then this text.
func rawBehindData(text string) string { return rawChunks("27\r\n" + rawLogin + text) }

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
	{"9112 7.1", "of one byte each", rawExtended(""), wantLogin},
	{"9112 7.1.1", "an extension each", rawExtended(";a=b"), wantLogin},
	{"9112 7.1", "size in a capital", rawChunks("A\r\n" + rawLogin[:10] + "\r\n1D\r\n" + rawLogin[10:] +
		"\r\n0\r\n\r\n"), wantLogin},
	{"9112 7.1", "none", rawChunks("0\r\n\r\n"), "EMPTY_REQUEST keep"},
	{"9112 7.1", "CRLF in the data", rawChunks("29\r\n\r\n" + rawLogin + "\r\n0\r\n\r\n"), wantLogin},
	{"9112 7.1", "data like a last chunk", rawChunks("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), "MALFORMED_JSON keep"},
	{"9112 7.1", "last chunk first", rawChunks("0\r\n\r\n27\r\n" + rawLogin + "\r\n0\r\n\r\n"),
		"EMPTY_REQUEST BAD_REQUEST close"},
	{"9112 7.1", "sizes that overflow together", rawChunks("1\r\n{\r\n7fffffffffffffff\r\n22\r\n" +
		rawLogin[5:] + "\r\n0\r\n\r\n"), "BODY_TOO_LARGE close or " + wantBad},
	{"9112 7.1.1", "a request hidden in an extension", rawChunkLine("27;a=\"\nGET /healthz HTTP/1.1\""),
		wantBad},
},
	each("9112 7.1", "behind the data", rawBehindData, wantLogin, "\r\n000\r\n\r\n", "\r\n0;a=b\r\n\r\n"),
	each("9112 7.1", "behind the data", rawBehindData, wantBad, "0\r\n\r\n", "\n0\r\n\r\n", "\r0\r\n\r\n",
		"\rX0\r\n\r\n", "XX0\r\n\r\n", "\r\n\r\n0\r\n\r\n", " \r\n0\r\n\r\n", "\r\n0\n\n", "\r\n0\r\n\n",
		"\r\n0\n\r\n", "\r\n0\r\n\rX", "\r\n0\r\n", "\r\n", "\r\n0 \r\n\r\n", "\r\n-0\r\n\r\n", "\r\n\r\n\r\n"),
	each("9112 7.1.1", "line", rawChunkLine, wantLogin, "0027", "27;a", "27;a;b", "27;a=b;c=d", `27;a="q;r"`,
		`27;a="q\"r"`, "27;!#$%&'*+-.^_`|~=0", `27;a="b c	d"`),
	// Bad white space must be parsed (7.1.1), but a line with a space has two readings. Neither obs-text
	// nor that many zeros are of use to a client.
	each("9112 7.1.1", "line", rawChunkLine, mayLogin, "27 ;a=b", "27; a=b", "27\t;\ta\t=\tb", `27;a="é"`,
		"0000000000000000000000000027"),
	each("9112 7.1", "line", rawChunkLine, wantBad, "", "26", "28", "29", "39", " 27", "27 ", "27\t", "0x27",
		"+27", "-27", "-1", "27h", "2 7", "2_7", "27,0", "zz", `"27"`, "27:", "27\x00", "27\r", "27\xff", "２７",
		"27\n", "\n27", "2\r7", "\r\n27", "%32%37"),
	each("9112 7.1.1", "line", rawChunkLine, wantBad, "27;", "27;;a", "27;a;", "27;=b", "27;a=", "27;a==b",
		"27;a b", "27;bad[=x", "27;é=b", `27;a="q`, `27;a="q"r`, `27;a="q\`, "27;\x00ext", "27;a=\"\x01\"",
		"27;a\r", "27;a\n", "27;a=\"\n\""),
	// Sizes that only fit an integer by losing digits.
	each("9112 7.1", "size", rawChunkLine, "BODY_TOO_LARGE close or "+wantBad, "7fffffff", "100000027",
		"7fffffffffffffff", "8000000000000000", "ffffffffffffffff", "10000000000000027",
		"f00000000000000000000000000000000000000027"),
)

func rawTrailers(lines string) string {
	return rawChunks("27\r\n" + rawLogin + "\r\n0\r\n" + lines + "\r\n")
}

// Trailers are field lines like those of the head (9112 7.1.2), dropped or refused, never merged into it
// (9110 6.5.1).
var trailerProbes = slices.Concat([]rawProbe{
	{"9110 6.5.1", "a token", "POST /carts HTTP/1.1\r\nHost: shop\r\n" + rawChunked +
		"\r\n2\r\n{}\r\n0\r\nAccess-Token: {token}\r\n\r\n", "INVALID_TOKEN keep or " + wantBad},
	{"9110 6.5.1", "a token of root", "GET /admin/orders HTTP/1.1\r\nHost: shop\r\n" + rawChunked +
		"\r\n0\r\nAccess-Token: {root}\r\n\r\n", "INVALID_TOKEN keep or " + wantBad},
	{"9112 7.1.2", "announced", rawPost("Trailer: X\r\n"+rawChunked,
		"27\r\n"+rawLogin+"\r\n0\r\nX: a\r\n\r\n"), wantLogin},
},
	each("9112 7.1.2", "taken", rawTrailers, wantLogin, "X: a\r\nY: b\r\n", "X:\r\n", "X: \t a \t\r\n",
		"X: é\r\n"),
	// What frames, routes or authenticates must not come in a trailer (9110 6.5.1); it is ignored or
	// refused.
	each("9110 6.5.1", "forbidden", rawTrailers, mayLogin, "Content-Length: 5\r\n",
		"Transfer-Encoding: chunked\r\n", "Host: evil\r\n", "Connection: close\r\n", "Expect: 100-continue\r\n",
		"X-Forwarded-For: 192.0.2.1\r\n", "Authorization: x\r\n", "Idempotency-Key: x\r\n", "Upgrade: h2c\r\n"),
	each("9112 5", "no field", rawTrailers, wantBad, "X: a\r\n b\r\n", " X: a\r\n", "X : a\r\n", "X: a\n",
		"X: a\nY: b\r\n", "\n", "X: a\rY: b\r\n", "\r", "X\r\n", ": a\r\n", "X\x00: a\r\n", "X: a\x00b\r\n",
		"é: a\r\n", "GET /healthz HTTP/1.1\r\nHost: shop\r\n"),
)
