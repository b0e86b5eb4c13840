package handlers

import "slices"

const wantNoCoding = wantBad + " or 501 close" // 501 for a coding that a server does not know (9112 6.1)

func rawCoding(value string) string {
	return rawPost("Transfer-Encoding:"+value+"\r\n", rawOneShot)
}

func rawCodingField(field string) string { return rawPost(field, rawOneShot) }

// rawCodingHidden has a coding that another reader may see, beside a length that is right without it.
func rawCodingHidden(field string) string { return rawPost(rawLength+field, rawLogin) }

// A request with a last coding other than chunked has no end that both sides agree on: 400 and close (9112
// 6.3). The variants come from "HTTP Desync Attacks" (PortSwigger), smuggler and http-garden.
var codingProbes = slices.Concat([]rawProbe{
	{"9112 7.1", "plain", rawPost(rawChunked, rawOneShot), wantLogin},
	{"9112 7.1", "of a GET", rawGet(rawChunked) + "0\r\n\r\n", wantAlive},
	{"9112 7.1", "of a GET with a body", rawGet(rawChunked) + "2\r\n{}\r\n0\r\n\r\n", wantAlive},

	// Both: an attempt to smuggle; "ought to be handled as an error" (9112 6.3).
	{"9112 6.3", "length, then chunks", rawPost(rawLength+rawChunked, rawOneShot), wantBad},
	{"9112 6.3", "chunks, then length", rawPost(rawChunked+rawLength, rawOneShot), wantBad},
	{"9112 6.3", "chunks and length 0", rawPost(rawChunked+"Content-Length: 0\r\n", rawOneShot), wantBad},
	{"9112 6.3", "chunks and the length of their text", rawPost(rawChunked+"Content-Length: 50\r\n",
		rawOneShot), wantBad},
	{"9112 6.3", "chunks and an invalid length", rawPost(rawChunked+"Content-Length: x\r\n", rawOneShot),
		wantBad},
	{"9112 6.3", "chunks and an empty length", rawPost(rawChunked+"Content-Length:\r\n", rawOneShot),
		wantBad},
	{"9112 6.3", "chunks and two lengths", rawPost(rawLength+rawChunked+rawLength, rawOneShot), wantBad},
	{"9112 6.3", "both in small letters", rawPost("transfer-encoding: chunked\r\ncontent-length: 39\r\n",
		rawOneShot), wantBad},
	{"9112 6.3", "both of a GET", rawGet("Content-Length: 5\r\n"+rawChunked) + "0\r\n\r\n", wantBad},
	{"9112 6.3", "both, fields between", rawPost(rawLength+"A: b\r\nC: d\r\n"+rawChunked, rawOneShot),
		wantBad},

	// TE.TE: several lines are one list (9110 5.3), and nothing is chunked twice (9112 6.1).
	{"9112 6.1", "chunked twice", rawPost(rawChunked+rawChunked, rawOneShot), wantNoCoding},
	{"9112 6.1", "chunked twice, in different letters", rawPost(rawChunked+"transfer-encoding: CHUNKED\r\n",
		rawOneShot), wantNoCoding},
	{"9112 6.1", "chunked, then identity", rawPost(rawChunked+"Transfer-Encoding: identity\r\n",
		rawOneShot), wantNoCoding},
	{"9112 6.1", "identity, then chunked", rawPost("Transfer-Encoding: identity\r\n"+rawChunked,
		rawOneShot), wantNoCoding},
	{"9112 6.1", "chunked, then unknown", rawPost(rawChunked+"Transfer-Encoding: x\r\n", rawOneShot),
		wantNoCoding},
	{"9112 6.1", "unknown, then chunked", rawPost("Transfer-encoding: cow\r\n"+rawChunked, rawOneShot),
		wantNoCoding},
	{"9112 6.1", "chunked, then nothing", rawPost(rawChunked+"Transfer-Encoding:\r\n", rawOneShot),
		mayLogin + " or 501 close"},
	{"9112 6.1", "gzip, then chunked", rawPost("Transfer-Encoding: gzip\r\n"+rawChunked, rawOneShot),
		wantNoCoding},

	// Other fields.
	{"9110 5.1", "underscore", rawCodingHidden("Transfer_Encoding: chunked\r\n"), wantLogin},
	{"9110 5.1", "no hyphen", rawCodingHidden("TransferEncoding: chunked\r\n"), wantLogin},
	{"9110 5.1", "prefix", rawCodingHidden("X-Transfer-Encoding: chunked\r\n"), wantLogin},
	{"9110 5.1", "suffix", rawCodingHidden("Transfer-Encodings: chunked\r\n"), wantLogin},
	{"9110 10.1.4", "TE", rawCodingHidden("TE: chunked, trailers\r\n"), wantLogin},
	{"9110 5.1", "Content-Encoding: chunked is no coding of the message",
		rawCodingHidden("Content-Encoding: chunked\r\n"),
		wantLogin + " or 415 keep or 415 close"},
	{"9110 5.1", "in a value", rawCodingHidden("X: Transfer-Encoding: chunked\r\n"), wantLogin},
},
	each("9112 5.1", "white space around", rawCoding, wantLogin, "chunked", " chunked", "  chunked",
		"\tchunked", " chunked ", " chunked\t", "\t \tchunked\t ", " Chunked", " CHUNKED", " cHuNkEd"),
	each("9110 5.1", "name", rawCodingField, wantLogin, "transfer-encoding: chunked\r\n",
		"TRANSFER-ENCODING: chunked\r\n", "tRANSFER-eNCODING: chunked\r\n"),
	// Empty elements of a list are passed over (9110 5.6.1.2), or suspected.
	each("9110 5.6.1.2", "empty elements", rawCoding, mayLogin+" or 501 close", " ,chunked", " chunked,",
		" , chunked ,"),
	each("9112 6.1", "no coding that ends", rawCoding, wantNoCoding, "", " ", " identity", " chunked, identity",
		" chunked,identity", " identity, chunked", " chunked, chunked", " gzip, chunked", " chunked, gzip",
		" gzip", " deflate", " compress", " x", " xchunked", " chunkedx", " chunk", " chunks", " chunke",
		" nchunked", " x chunked", " chunked x", " cow", " cow, chunked", " chunked; cow", " chunked;q=1",
		" chunked;", " ;chunked", ` "chunked"`, " 'chunked'", " [chunked]", " (chunked)", " {chunked}",
		" <chunked>", " chunked/1", " chunked=1", " c hunked", " chunk ed", " chunked-false", " -chunked",
		" :chunked", ": chunked", " =chunked", " 0chunked", " trailers", " chunked, cow", " chunked,,identity",
		" %63hunked", " chun\\ked"),
	each("9110 5.5", "odd bytes", rawCoding, wantNoCoding, " \vchunked", " chunked\v", " \fchunked",
		" chunked\f", " \x00chunked", " chunked\x00", " chunked\x00x", " \rchunked", " chunked\r", " chunked\r\r",
		" \x01chunked", " chunked\x1f", " \bchunked", " chunked\x7f", " \u00a0chunked", " chunked\u00a0",
		" \xa0chunked", " chunked\xa0", " \x85chunked", " chunked\xff", " \ufeffchunked", " \u2003chunked",
		" chun\u212aed", " ＣＨＵＮＫＥＤ", " chunked\n", "\nchunked"),
	each("9110 5.1", "odd name", rawCodingHidden, wantBad, "Transfer-Encoding : chunked\r\n",
		"Transfer-Encoding\t: chunked\r\n", "Transfer-Encoding  : chunked\r\n", "Transfer-Encoding\v: chunked\r\n",
		"Transfer-Encoding\f: chunked\r\n", "Transfer-Encoding\x00: chunked\r\n",
		"Transfer-Encoding\r: chunked\r\n", "Transfer-Encoding\n: chunked\r\n",
		"Transfer-Encoding\r\n: chunked\r\n", "Transfer-Encoding\r\n : chunked\r\n",
		"Transfer-Encoding\u00a0: chunked\r\n", "Transfer-Encoding\xff: chunked\r\n",
		"Transfer Encoding: chunked\r\n", "Transfer-\tEncoding: chunked\r\n", "Transfer-Encoding\r\n",
		"Transfer-Encoding chunked\r\n", "Transfer-Encoding= chunked\r\n", "Transfer-Encoding; chunked\r\n",
		"\x00Transfer-Encoding: chunked\r\n", "\vTransfer-Encoding: chunked\r\n",
		"\rTransfer-Encoding: chunked\r\n", " Transfer-Encoding: chunked\r\n", "\tTransfer-Encoding: chunked\r\n",
		"\u00a0Transfer-Encoding: chunked\r\n",
		"\ufeffTransfer-Encoding: chunked\r\n", `"Transfer-Encoding": chunked`+"\r\n",
		"Transfer-Encoding\": chunked\r\n", "(Transfer-Encoding): chunked\r\n", "Transfer\\-Encoding: chunked\r\n",
		"Tran\u017ffer-Encoding: chunked\r\n", "Transfer‐Encoding: chunked\r\n", "Transfer/Encoding: chunked\r\n",
		"X: a\nTransfer-Encoding: chunked\r\n", "X: a\rTransfer-Encoding: chunked\r\n",
		"X: a\n\rTransfer-Encoding: chunked\r\n", "X: a\x00\nTransfer-Encoding: chunked\r\n",
		"X:\nTransfer-Encoding: chunked\r\n", "X\nTransfer-Encoding: chunked\r\n",
		"X: \"a\r\nTransfer-Encoding: chunked\"\r\n"),
	each("9112 5.2", "folded", rawCodingField, wantBad, "Transfer-Encoding:\r\n chunked\r\n",
		"Transfer-Encoding:\r\n\tchunked\r\n", "Transfer-Encoding: \r\n \r\n chunked\r\n",
		"Transfer-Encoding: chun\r\n ked\r\n", "Transfer-Encoding: chunked\r\n x\r\n",
		"Transfer-Encoding: chunked\r\n , identity\r\n", "Transfer-Encoding: chunked\r\n \r\n",
		"Transfer-Encoding:\n chunked\r\n", "X: a\r\n Transfer-Encoding: chunked\r\n",
		"Transfer-\r\n Encoding: chunked\r\n"),
)
