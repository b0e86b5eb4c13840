package handlers

import (
	"slices"
	"testing"

	"flashsale/internal/testkit"
)

func rawConnection(value string) string { return rawGet("Connection: " + value + "\r\n") }

func rawOld(fields string) string { return "GET /healthz HTTP/1.0\r\nHost: shop\r\n" + fields + "\r\n" }

// Connection is a list of options without regard to case (9110 7.6.1). With "close" among them the server
// ends the connection after its reply and says so (9112 9.6).
var connectionProbes = slices.Concat([]rawProbe{
	{"9112 9.3", "none", rawGet(""), wantAlive},
	{"9112 9.6", "close and a body", rawPost("Connection: close\r\n"+rawLength, rawLogin), "login close"},
	{"9112 9.6", "close and chunks", rawPost("Connection: close\r\n"+rawChunked, rawOneShot),
		"login close"},
	{"9112 9.6", "close and an error", rawLine("GET /nothing HTTP/1.1\r\nConnection: Close"),
		"NOT_FOUND close"},
	{"9112 9.6", "close and no token", rawLine("GET /orders HTTP/1.1\r\nConnection: close, te"),
		"INVALID_TOKEN close"},
	{"9112 9.6", "close and HEAD", rawLine("HEAD /healthz HTTP/1.1\r\nConnection: close"), "alive close"},
	{"9112 9.6", "close and OPTIONS", rawLine("OPTIONS /healthz HTTP/1.1\r\nConnection: close"),
		"204 close"},
	{"9110 7.6.1", "keep-alive, then a request that closes", rawConnection("keep-alive") +
		rawConnection("close"), "alive alive close"},

	// Fields that Connection names are the proxy's to drop (9110 7.6.1); here they count, or the request is
	// suspected.
	{"9110 7.6.1", "names the length", rawPost("Connection: content-length\r\n"+rawLength, rawLogin),
		mayLogin},
	{"9110 7.6.1", "names the coding", rawPost("Connection: transfer-encoding\r\n"+rawChunked, rawOneShot),
		mayLogin},
	{"9110 7.6.1", "names Host", rawConnection("host"), mayAlive},
	{"9110 7.8", "h2c and close", rawGet("Connection: Upgrade, close\r\nUpgrade: h2c\r\n"), "alive close"},
	{"9112 9.3", "HTTP/1.0, error", "GET /nothing HTTP/1.0\r\n\r\n", "NOT_FOUND close"},
},
	each("9112 9.6", "closes", rawGet, "alive close", "CONNECTION: CLOSE\r\n",
		"Connection: keep-alive\r\nConnection: close\r\n", "Connection: close\r\nConnection: keep-alive\r\n",
		"Connection: te\r\nA: b\r\nconnection: x, Close\r\n", "Connection: close\r\nConnection:\r\n"),
	each("9112 9.6", "closes", rawConnection, "alive close", "close", "cLoSe", "keep-alive, close",
		"close, keep-alive", "te,close", "close,", ", , close", "te,\tclose", " \tclose\t ", "x-close, close",
		"a,b,c,d,e,f,g,h,i,j,close"),
	each("9110 7.6.1", "does not close", rawConnection, wantAlive, "keep-alive", "TE, trailers", "closed",
		"xclose", "close-x", "clos", "", ",", "keep-alive, closes"),
	// The server changes to no other protocol: it ignores Upgrade (9110 7.8).
	each("9110 7.8", "does not close", rawGet, wantAlive, "X-Connection: close\r\nConnections: close\r\n",
		"Proxy-Connection: close\r\n", "Keep-Alive: timeout=0, max=0\r\n",
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
		"Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n"),
	// Not even options; whether they are ignored or refused, they do not close a connection in step.
	each("9110 7.6.1", "no option", rawConnection, mayAlive, "clo\u017fe", `"clos"`, "clos e"),
	// HTTP/1.0 closes unless the client asks for more and the server likes it (9112 9.3).
	each("9112 9.3", "HTTP/1.0", rawOld, "alive close", "", "Connection: close\r\n",
		"Connection: keep-alive, close\r\n", "Connection: keep-alive\r\nConnection: close\r\n",
		"Connection: keep-alives\r\n", "Keep-Alive: timeout=5\r\n"),
	each("9112 9.3", "HTTP/1.0", rawOld, "alive keep or alive close", "Connection: keep-alive\r\n",
		"Connection: te, Keep-Alive\r\n"),
)

// expectProbe is a head, and the body that is sent only when it is asked for.
type expectProbe struct {
	rawProbe
	body string
}

// eachExpecting makes a probe of the fields of each login that expects a 100.
func eachExpecting(body, want string, fields ...string) (probes []expectProbe) {
	for _, p := range each("9110 10.1.1", "expects", func(fields string) string {
		return rawPost(fields, "")
	}, want, fields...) {
		probes = append(probes, expectProbe{p, body})
	}
	return probes
}

const rawExpect = "Expect: 100-continue\r\n"

var expectProbes = slices.Concat(
	// The JDK's client writes 100-Continue.
	eachExpecting(rawLogin, "100 login keep", rawLength+rawExpect, rawExpect+rawLength,
		rawLength+"Expect: 100-Continue\r\n", rawLength+"EXPECT: \t100-CONTINUE \r\n"),
	eachExpecting(rawOneShot, "100 login keep", rawChunked+"Expect: 100-Continue\r\n"),
	eachExpecting(rawLogin, "100 login close", rawLength+"Connection: close\r\n"+rawExpect),
	eachExpecting(rawLogin, "100 login keep or 417 close or "+wantBad, rawLength+rawExpect+rawExpect),
	// What will be refused is refused before the client sends a body.
	eachExpecting("", "BODY_TOO_LARGE close", "Content-Length: 32769\r\n"+rawExpect,
		"Content-Length: 99999999999\r\n"+rawExpect),
	eachExpecting("", "HEAD_TOO_LARGE close", rawFields(101)+rawExpect+rawLength),
	eachExpecting("", wantNoCoding, "Content-Length: x\r\n"+rawExpect,
		rawLength+"Content-Length: 1\r\n"+rawExpect, rawLength+rawChunked+rawExpect,
		"Transfer-Encoding: x\r\n"+rawExpect, "Host: shop\r\n"+rawExpect+rawLength,
		"X: a\r\n b\r\n"+rawExpect+rawLength,
		// A proxy may have been told "100" here and the server not: out of step.
		rawLength+"Expect:\r\n 100-continue\r\n", rawLength+"Expect : 100-continue\r\n"),
	[]expectProbe{{rawProbe{"9110 10.1.1", "URL too long",
		rawCall("POST", rawPath(1025), rawExpect+rawLength, ""), "URL_TOO_LONG close"}, ""}},
)

func TestProbesThatExpect(t *testing.T) { onBoth(t, testProbesThatExpect) }

func testProbesThatExpect(t *testing.T, s *shop) {
	address, fill := s.listen(t), s.filler()
	t.Run("all", func(t *testing.T) {
		for _, p := range expectProbes {
			t.Run(p.rule+" "+p.name, func(t *testing.T) {
				t.Parallel()
				talk(t, address, fill.Replace(p.send), fill.Replace(p.body+rawFollower)).check(t, p.want)
			})
		}
	})
}

// These are sent whole: the server may leave out a 100 when the body is there already, or there is none. It
// may answer 417 to an expectation that it does not know.
var expectWholeProbes = slices.Concat([]rawProbe{
	{"9110 10.1.1", "with the body", rawPost(rawLength+"Expect: 100-continue\r\n", rawLogin),
		"100 login keep or login keep"},
	{"9110 10.1.1", "without a body", rawGet("Expect: 100-continue\r\n"), "100 alive keep or alive keep"},
	{"9110 10.1.1", "length 0", rawPost("Content-Length: 0\r\nExpect: 100-continue\r\n", ""),
		"100 EMPTY_REQUEST keep or EMPTY_REQUEST keep"},
	{"9110 10.1.1", "HTTP/1.0, kept alive",
		"POST /login HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-Continue\r\n" + rawLength + "\r\n" +
			rawLogin, "login keep or login close"},
	{"9110 10.1.1", "on an unknown path",
		"POST /nothing HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\n" + rawLength + "\r\n" + rawLogin,
		"100 NOT_FOUND keep or NOT_FOUND keep or NOT_FOUND close"},
	{"9110 10.1.1", "without a token", "POST /orders HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\n" +
		rawLength + "\r\n" + rawLogin,
		"100 INVALID_TOKEN keep or INVALID_TOKEN keep or INVALID_TOKEN close"},
	{"9110 10.1.1", "twice pipelined", rawPost(rawLength+"Expect: 100-continue\r\n",
		rawLogin) + rawPost(rawLength+"Expect: 100-continue\r\n", rawLogin),
		"100 login 100 login keep or login login keep or 100 login login keep or login 100 login keep"},
},
	each("9110 10.1.1", "not known", func(value string) string {
		return rawPost(rawLength+"Expect: "+value+"\r\n", rawLogin)
	}, "login keep or 417 keep or 417 close or "+wantBad, "x", "200-ok", "100", "100-continued",
		"x100-continue", "100_continue", "100 -continue", "y 100-continue", "100-continue;x", "100-continu\u00e9"),
	each("9110 10.1.1", "a list", func(value string) string {
		return rawPost(rawLength+"Expect: "+value+"\r\n", rawLogin)
	}, "100 login keep or login keep or 417 keep or 417 close or "+wantBad, "100-continue, x",
		"100-continue, 100-continue", ""),
)

// A client that ends its side after a whole request reads the reply (9112 9.6). A request that is cut is
// not acted on (9112 8) and gets a 400. Line ends alone are no request.
func TestProbesThatAreCut(t *testing.T) { onBoth(t, testProbesThatAreCut) }

func testProbesThatAreCut(t *testing.T, s *shop) {
	address := s.listen(t)
	for name, request := range map[string]string{
		"length": rawPost("Connection: close\r\n"+rawLength, rawLogin),
		"chunks": rawPost("Connection: close\r\n"+rawChunked,
			"5;a=\"b\"\r\n"+rawLogin[:5]+"\r\n22\r\n"+rawLogin[5:]+
				"\r\n0\r\nX: a\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			talkHalf(t, address, request).check(t, "login close")
			for end := range len(request) - 1 {
				talkHalf(t, address, request[:end+1]).check(t, wantBad)
			}
		})
	}
	for _, text := range []string{"", "\r\n", "\r\n\r\n\r"} {
		if heard := talkHalf(t, address, text); heard.raw.Len() > 0 || heard.err != nil {
			t.Errorf("%q is answered %q, %v", text, heard.raw.Bytes(), heard.err)
		}
	}
}

// talkHalf sends a text and ends its side.
func talkHalf(t *testing.T, address, text string) *conversation {
	t.Helper()
	c := dialProbe(t, address)
	defer c.Close()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, c.CloseWrite())
	return listen(c, "POST", "")
}
