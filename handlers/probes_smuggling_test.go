package handlers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rawSized declares the length of the body.
func rawSized(method, path, fields, body string) string {
	return rawCall(method, path, fmt.Sprintf("%sContent-Length: %d\r\n", fields, len(body)), body)
}

func rawChunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

// Pipelines stay in step (9112 9.3.2).
var pipelineProbes = []rawProbe{
	{"9112 9.3.2", "two", rawGet("") + rawGet(""), "alive alive keep"},
	{"9112 9.3.2", "many", strings.Repeat(rawGet(""), 50), strings.Repeat("alive ", 50) + "keep"},
	{"9112 9.3.2", "many with bodies", strings.Repeat(rawPost(rawLength, rawLogin)+rawPost(rawChunked,
		rawOneShot), 20),
		strings.Repeat("login ", 40) + "keep"},
	{"9112 9.3.2", "more than a buffer holds", strings.Repeat(rawPost(rawLength, rawLogin)+
		rawPost(rawChunked, rawOneShot)+rawPieces(rawPadded(900), 99), 50), strings.Repeat("login ",
		150) + "keep"},
	{"9112 9.3.2", "of all kinds", rawGet("") + rawPost(rawLength,
		rawLogin) + rawLine("GET /nothing HTTP/1.1") + rawLine("PUT /foods HTTP/1.1") +
		rawPost(rawChunked, rawOneShot) + rawPost("Content-Length: 2\r\n",
		"{}") + rawLine("GET /orders HTTP/1.1") + rawAdd("/carts/{cart}"),
		"alive login NOT_FOUND NO_METHOD login MALFORMED_JSON INVALID_TOKEN 204 keep"},
	{"9112 9.3.2", "refused in the middle", rawGet("") + rawGet("X : a\r\n") + rawGet(""),
		"alive BAD_REQUEST close"},
	{"9112 9.6", "closed in the middle", rawGet("") + rawGet("Connection: close\r\n") + rawGet(""),
		"alive alive close"},
	{"9112 3", "in the target", rawLine("GET /healthz%20HTTP/1.1%0d%0aHost:%20shop%0d%0a%0d%0a HTTP/1.1"),
		mayAbsent},
	{"9112 3.2.3", "behind CONNECT", rawLine("CONNECT shop:80 HTTP/1.1") + rawGet(""),
		"NOT_FOUND alive keep or NO_METHOD alive keep or " +
			"NOT_FOUND close or NO_METHOD close or 501 close or " + wantBad},
	{"9110 7.8", "behind an upgrade that is not taken up",
		rawGet("Connection: Upgrade\r\nUpgrade: websocket\r\n") + rawGet(""), "alive alive keep"},
	{"9112 6.3", "CL.TE, one byte left", rawPost("Content-Length: 6\r\n"+rawChunked, "0\r\n\r\nG"),
		wantBad},
	{"9112 6.3", "TE.CL, a chunk left", rawPost(rawChunked+"Content-Length: 3\r\n",
		"8\r\nSMUGGLED\r\n0\r\n\r\n"), wantBad},

	// Fields that change what a request means elsewhere.
	{"9110 9.1", "X-HTTP-Method-Override",
		rawGet("X-HTTP-Method-Override: DELETE\r\nX-Method-Override: POST\r\n"), wantAlive},
	{"9110 7.2", "X-Original-URL",
		rawGet("X-Original-URL: /admin/orders\r\nX-Rewrite-URL: /admin/orders\r\n"), wantAlive},
	{"9110 7.2", "X-Forwarded-Host", rawGet("X-Forwarded-Host: evil\r\nForwarded: host=evil\r\n"),
		wantAlive},
	{"9110 14.2", "Range", rawGet("Range: bytes=0-1\r\n"), wantAlive + " or 206 keep or 416 keep"},
	{"9110 13.1", "If-None-Match of what has no tag", rawGet("If-None-Match: \"x\"\r\n"), wantAlive},
}

// bodyProbes have a request in the body of another. A body is read even where the call takes none, or fails.
func bodyProbes(hidden string) []rawProbe {
	return []rawProbe{
		{"9112 6", "in the body of GET", rawSized("GET", "/healthz", "", hidden), wantAlive},
		{"9112 6", "in the body of HEAD", rawSized("HEAD", "/healthz", "", hidden), wantAlive},
		{"9112 6", "in the body of OPTIONS", rawSized("OPTIONS", "/healthz", "", hidden), "204 keep"},
		{"9112 6", "in the body of OPTIONS *", rawSized("OPTIONS", "*", "", hidden), "204 keep"},
		{"9112 6", "in the body of DELETE", rawSized("DELETE", "/healthz", "", hidden), "NO_METHOD keep"},
		{"9112 6", "in the body of login", rawSized("POST", "/login", "", hidden), "MALFORMED_JSON keep"},
		{"9112 6", "in a body that goes nowhere", rawSized("POST", "/nothing", "", hidden), wantAbsent},
		{"9112 6", "in a body for another method", rawSized("POST", "/foods", "", hidden),
			"NO_METHOD keep"},
		{"9112 6", "in a body without a token", rawSized("POST", "/orders", "", hidden),
			"INVALID_TOKEN keep"},
		{"9112 6", "in a body that is not wanted", rawSized("POST", "/carts", rawToken, hidden),
			"200 keep"},
		{"9112 7.1", "in a chunk", rawChunks(rawChunk(hidden) + "0\r\n\r\n"), "MALFORMED_JSON keep"},
		{"9112 7.1", "in a chunk of GET", rawCall("GET", "/healthz", rawChunked,
			rawChunk(hidden)+"0\r\n\r\n"), wantAlive},
		{"9112 7.1", "in a chunk that goes nowhere", rawCall("POST", "/nothing", rawChunked,
			rawChunk(hidden)+"0\r\n\r\n"), wantAbsent},
		{"9112 6", "in a closed body", rawSized("POST", "/nothing", "Connection: close\r\n", hidden),
			"NOT_FOUND close"},
	}
}

// desyncProbes are CL.TE, TE.CL, TE.TE, CL.CL and CL.0 as published ("HTTP Desync Attacks").
func desyncProbes(hidden string) []rawProbe {
	return slices.Concat([]rawProbe{
		{"9112 6.3", "CL.TE, a request left", rawPost(fmt.Sprintf("Content-Length: %d\r\n",
			5+len(hidden))+rawChunked, "0\r\n\r\n"+hidden), wantBad},
		{"9112 6.3", "TE.CL, a request left", rawPost("Content-Length: 4\r\n"+rawChunked,
			rawChunk(hidden)+"0\r\n\r\n"), wantBad},
		{"9112 6.1", "TE.TE", rawPost("Content-Length: 4\r\n"+rawChunked+"Transfer-encoding: cow\r\n",
			rawChunk(hidden)+"0\r\n\r\n"), wantNoCoding},
		{"9112 6.3", "CL.CL", rawPost("Content-Length: 0\r\n"+fmt.Sprintf("Content-Length: %d\r\n",
			len(hidden)), hidden), wantBad},
		{"9112 6.3", "CL.CL in one line", rawPost(fmt.Sprintf("Content-Length: 0, %d\r\n", len(hidden)),
			hidden), wantBad},
		{"9112 6.1", "TE.0", rawCall("OPTIONS", "/healthz", rawChunked, rawChunk(hidden)+"0\r\n\r\n"),
			"204 keep"},
		{"9112 5.1", "0.CL by a space", rawPost(fmt.Sprintf("Content-Length : %d\r\n", len(hidden)),
			hidden), wantBad},
		{"9112 5.2", "0.CL by a fold", rawPost(fmt.Sprintf("Content-Length:\r\n %d\r\n", len(hidden)),
			hidden), wantBad},
		{"9112 6.1", "TE in HTTP/1.0", "POST /login HTTP/1.0\r\n" + rawChunked +
			fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)+5) +
			"0\r\n\r\n" + hidden, wantBad},
		{"9112 6.1", "TE in HTTP/1.0, kept alive", "POST /login HTTP/1.0\r\nConnection: keep-alive\r\n" +
			rawChunked + "\r\n0\r\n\r\n" + hidden, wantBad},
		{"9110 7.6.1", "a length that a proxy may drop", rawSized("POST", "/nothing",
			"Connection: close, content-length\r\n", hidden),
			"NOT_FOUND close or " + wantBad},
	},
		each("9112 6.1", "TE.TE beside a length of 4", func(coding string) string {
			return rawPost("Content-Length: 4\r\n"+coding, rawChunk(hidden)+"0\r\n\r\n")
		}, wantNoCoding, "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding : chunked\r\n",
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
			"Transfer-Encoding:\tchunked\r\n", " Transfer-Encoding: chunked\r\n",
			"X: X\nTransfer-Encoding: chunked\r\n",
			"Transfer-Encoding\r\n : chunked\r\n", "Transfer-Encoding: identity\r\n",
			"Transfer-Encoding: chunked, identity\r\n",
			"Transfer-Encoding: \vchunked\r\n", "Transfer-Encoding: chunked\v\r\n",
			"Transfer-Encoding:\r\n"),
	)
}

// funkyProbes are chunks and lines that end somewhere else for another reader ("Funky chunks").
func funkyProbes(hidden string) []rawProbe {
	behindChunks := func(chunks string) string { return rawChunks(chunks + hidden) }
	behind := func(text string) string { return text + hidden }
	return slices.Concat([]rawProbe{
		{"9112 7.1.1", "TERM.EXT", rawChunks("2;\nxx\r\n" + rawChunk(hidden) + "0\r\n\r\n"), wantBad},
	},
		each("9112 7.1", "EXT.TERM, SPILL, ONE.TWO", behindChunks, wantBad, "0;\n", "5\r\nAAAAA\n0\r\n\r\n",
			"5\r\nAAAAAxx0\r\n\r\n", "5\r\nAAAAAXX2\r\n45\r\n0\r\n\r\n"),
		each("9112 7.1", "a size that is cut", behindChunks, "BODY_TOO_LARGE close or "+wantBad,
			"10000000000000000\r\n\r\n", "100000000\r\n\r\n"),
		each("9112 7.1", "a size of nothing", behindChunks, wantBad, "0x0\r\n\r\n", "0_0\r\n\r\n",
			"+0\r\n\r\n", "-0\r\n\r\n", "0\x00\r\n\r\n"),
		each("9112 7.1.2", "trailers", behindChunks, wantBad, "0\r\nX\r\n\r\n", "0\r\nX: a\n\n", "0\r\nX: a\r\n ",
			"0\r\n"),
		each("9112 2.2", "lines", behind, wantBad, getHead+"X: a\n\n", getHead+"X: a\r\r",
			getHead+"X: a\x00\r\n\r\n", getHead+"\n", "GET /healthz HTTP/1.1\n\n", "GET /healthz\r\n"),
	)
}

// pipelineWith has a request behind one that is refused.
func pipelineWith(behind string) (probes []rawProbe) {
	for _, field := range []string{rawChunked, "X: a\n", "X: a\r\n b\r\n", rawLength, "X: \x00\r\n"} {
		probes = append(probes, rawProbe{"9112 9.3.2", fmt.Sprintf("behind a refusal for %q", field),
			rawSized("POST", "/orders", field, "0\r\n\r\n") + behind, wantBad})
	}
	return append(probes, rawProbe{"9112 9.3.2", "behind a head too large",
		rawSized("POST", "/orders", rawFields(100), "") + behind, "HEAD_TOO_LARGE close"})
}

// Nothing that is hidden in another request is acted on: here no order is placed.
func TestProbesHideNoOrder(t *testing.T) { onBoth(t, testProbesHideNoOrder) }

func testProbesHideNoOrder(t *testing.T, s *shop) {
	address, fill := s.listen(t), s.filler()
	add := rawSized("PATCH", "/carts/{cart}", rawToken, `{"food_id":1,"count":1}`)
	talk(t, address, fill.Replace(add+rawFollower), "").check(t, "204 keep")
	order := rawSized("POST", "/orders", fill.Replace(rawToken), fill.Replace(`{"cart_id":"{cart}"}`))
	orders := rawLine("GET /orders HTTP/1.1\r\nAccess-Token: {token}")
	for _, p := range slices.Concat(bodyProbes(order), desyncProbes(order), funkyProbes(order),
		pipelineWith(order)) {
		t.Run(p.rule+" "+p.name, func(t *testing.T) {
			talk(t, address, fill.Replace(p.send+rawFollower), "").check(t, p.want)
		})
		if heard := talk(t, address, fill.Replace(orders+rawFollower),
			""); len(heard.replies) == 0 || heard.replies[0].body != "[]" {
			t.Fatalf("%s: an order was placed, or none can be listed:\n%s", p.name, heard.raw.Bytes())
		}
	}
	talk(t, address, order+fill.Replace(rawFollower), "").check(t, "200 keep") // it would have worked
}
