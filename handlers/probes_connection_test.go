package handlers

import (
	"slices"
	"testing"
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
	{"9110 5.3", "close on the second line", rawGet("Connection: keep-alive\r\nConnection: close\r\n"),
		"alive close"},
	{"9110 5.3", "close on the first line", rawGet("Connection: close\r\nConnection: keep-alive\r\n"),
		"alive close"},
	{"9110 5.3", "close on a line far below",
		rawGet("Connection: te\r\nA: b\r\nC: d\r\nconnection: x, Close\r\n"), "alive close"},
	{"9110 5.3", "close on three lines",
		rawGet("Connection: close\r\nConnection: close\r\nConnection: close\r\n"), "alive close"},
	{"9110 5.3", "close, then an empty line of options", rawGet("Connection: close\r\nConnection:\r\n"),
		"alive close"},
	{"9112 5", "the name in capitals", rawGet("CONNECTION: CLOSE\r\n"), "alive close"},
	{"9110 7.6.1", "a name like it", rawGet("X-Connection: close\r\nConnections: close\r\n"), wantAlive},
	{"9112 C.2.2", "Proxy-Connection", rawGet("Proxy-Connection: close\r\n"), wantAlive},
	{"9110 7.6.1", "Keep-Alive as a field", rawGet("Keep-Alive: timeout=0, max=0\r\n"), wantAlive},
	{"9110 7.6.1", "keep-alive, then a request that closes", rawConnection("keep-alive") +
		rawConnection("close"), "alive alive close"},

	// Fields that Connection names are the proxy's to drop (9110 7.6.1); here they count, or the request is
	// suspected.
	{"9110 7.6.1", "names the length", rawPost("Connection: content-length\r\n"+rawLength, rawLogin),
		mayLogin},
	{"9110 7.6.1", "names the coding", rawPost("Connection: transfer-encoding\r\n"+rawChunked, rawOneShot),
		mayLogin},
	{"9110 7.6.1", "names Host", rawConnection("host"), mayAlive},

	// The server changes to no other protocol: it ignores Upgrade (9110 7.8).
	{"9110 7.8", "websocket",
		rawGet("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"), wantAlive},
	{"9110 7.8", "h2c",
		rawGet("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
		wantAlive},
	{"9110 7.8", "h2c and close", rawGet("Connection: Upgrade, close\r\nUpgrade: h2c\r\n"), "alive close"},
	{"9110 7.8", "TLS", rawGet("Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n"), wantAlive},

	// HTTP/1.0 closes unless the client asks for more and the server likes it (9112 9.3).
	{"9112 9.3", "HTTP/1.0", rawOld(""), "alive close"},
	{"9112 9.3", "HTTP/1.0 and close", rawOld("Connection: close\r\n"), "alive close"},
	{"9112 9.3", "HTTP/1.0, keep-alive and close", rawOld("Connection: keep-alive, close\r\n"),
		"alive close"},
	{"9112 9.3", "HTTP/1.0, keep-alive and close on two lines",
		rawOld("Connection: keep-alive\r\nConnection: close\r\n"), "alive close"},
	{"9112 9.3", "HTTP/1.0, close and keep-alive on two lines",
		rawOld("Connection: close\r\nConnection: keep-alive\r\n"), "alive close"},
	{"9112 9.3", "HTTP/1.0 and an option like keep-alive", rawOld("Connection: keep-alives\r\n"),
		"alive close"},
	{"9112 9.3", "HTTP/1.0 and Keep-Alive as a field", rawOld("Keep-Alive: timeout=5\r\n"), "alive close"},
	{"9112 9.3", "HTTP/1.0, error", "GET /nothing HTTP/1.0\r\n\r\n", "NOT_FOUND close"},
},
	each("9112 9.6", "closes", rawConnection, "alive close", "close", "Close", "CLOSE", "cLoSe",
		"keep-alive, close", "close, keep-alive", "Keep-Alive,Close", "close, te", "close,te", "te,close",
		"te, CLOSE", "close,", ",close", ", , close", "te,\tclose", "close ", " \tclose\t ", "te , close , x",
		"close,close", "x-close, close", "upgrade, close", "a,b,c,d,e,f,g,h,i,j,close"),
	each("9110 7.6.1", "does not close", rawConnection, wantAlive, "keep-alive", "Keep-Alive", "te",
		"TE, trailers", "closed", "xclose", "close-x", "not-close", "clos", "te, closed", "", " ", ",", "c-lose",
		"keep-alive, closes", "close_"),
	// Not even options; whether they are ignored or refused, they do not close a connection in step.
	each("9110 7.6.1", "no option", rawConnection, mayAlive, "clo\u017fe", "cl\u00f6se", `"clos"`, "clos e",
		"c;lose"),
	each("9112 9.3", "HTTP/1.0", func(value string) string {
		return rawOld("Connection: " + value + "\r\n")
	}, "alive keep or alive close", "keep-alive", "Keep-Alive", "KEEP-ALIVE", "te, keep-alive",
		"keep-alive,te"),
)

// expectProbes send the head, and the body only when it is asked for.
var expectProbes = []struct {
	rawProbe
	body string
}{
	// The JDK's client writes 100-Continue.
	{rawProbe{"9110 10.1.1", "plain", rawPost(rawLength+"Expect: 100-continue\r\n", ""), "100 login keep"},
		rawLogin},
	{rawProbe{"9110 10.1.1", "100-Continue", rawPost(rawLength+"Expect: 100-Continue\r\n", ""),
		"100 login keep"}, rawLogin},
	{rawProbe{"9110 10.1.1", "capitals", rawPost(rawLength+"EXPECT: 100-CONTINUE\r\n", ""),
		"100 login keep"}, rawLogin},
	{rawProbe{"9110 10.1.1", "white space around", rawPost(rawLength+"Expect: \t100-continue \r\n", ""),
		"100 login keep"}, rawLogin},
	{rawProbe{"9110 10.1.1", "before the length", rawPost("Expect: 100-continue\r\n"+rawLength, ""),
		"100 login keep"}, rawLogin},
	{rawProbe{"9110 10.1.1", "chunks", rawPost(rawChunked+"Expect: 100-Continue\r\n", ""),
		"100 login keep"}, rawOneShot},
	{rawProbe{"9110 10.1.1", "and close", rawPost(rawLength+"Connection: close\r\nExpect: 100-continue\r\n",
		""), "100 login close"}, rawLogin},
	{rawProbe{"9110 10.1.1", "twice", rawPost(rawLength+"Expect: 100-continue\r\nExpect: 100-continue\r\n", ""),
		"100 login keep or 417 close or " + wantBad}, rawLogin},

	// What will be refused is refused before the client sends a body.
	{rawProbe{"9110 10.1.1", "body too long", rawPost("Content-Length: 32769\r\nExpect: 100-continue\r\n",
		""), "BODY_TOO_LARGE close"}, ""},
	{rawProbe{"9110 10.1.1", "body far too long",
		rawPost("Content-Length: 99999999999\r\nExpect: 100-Continue\r\n", ""), "BODY_TOO_LARGE close"},
		""},
	{rawProbe{"9110 10.1.1", "length invalid", rawPost("Content-Length: x\r\nExpect: 100-continue\r\n", ""),
		wantBad}, ""},
	{rawProbe{"9110 10.1.1", "lengths that differ", rawPost(rawLength+
		"Content-Length: 1\r\nExpect: 100-continue\r\n", ""), wantBad}, ""},
	{rawProbe{"9110 10.1.1", "length and chunks", rawPost(rawLength+rawChunked+"Expect: 100-continue\r\n",
		""), wantBad}, ""},
	{rawProbe{"9110 10.1.1", "coding unknown", rawPost("Transfer-Encoding: x\r\nExpect: 100-continue\r\n",
		""), wantNoCoding}, ""},
	{rawProbe{"9110 10.1.1", "two Hosts", rawPost("Host: shop\r\nExpect: 100-continue\r\n"+rawLength, ""),
		wantBad}, ""},
	{rawProbe{"9110 10.1.1", "Host invalid",
		"POST /login HTTP/1.1\r\nHost: a@b\r\nExpect: 100-continue\r\n" + rawLength + "\r\n", wantBad}, ""},
	{rawProbe{"9110 10.1.1", "no Host", "POST /login HTTP/1.1\r\nExpect: 100-continue\r\n" + rawLength +
		"\r\n", wantBad}, ""},
	{rawProbe{"9110 10.1.1", "target invalid", "POST * HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\n" +
		rawLength + "\r\n", wantBad}, ""},
	{rawProbe{"9110 10.1.1", "path invalid",
		"POST /\xff HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\n" + rawLength + "\r\n", wantBad}, ""},
	{rawProbe{"9110 10.1.1", "field folded", rawPost("X: a\r\n b\r\nExpect: 100-continue\r\n"+rawLength,
		""), wantBad}, ""},
	{rawProbe{"9110 10.1.1", "URL too long", "POST " + rawPath(1025) +
		" HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\n" + rawLength + "\r\n",
		"URL_TOO_LONG close"}, ""},
	{rawProbe{"9110 10.1.1", "too many fields", rawPost(rawFields(101)+"Expect: 100-continue\r\n"+rawLength,
		""), "HEAD_TOO_LARGE close"}, ""},
	// A proxy may have been told "100" here and the server not: out of step.
	{rawProbe{"9110 10.1.1", "folded", rawPost(rawLength+"Expect:\r\n 100-continue\r\n", ""), wantBad}, ""},
	{rawProbe{"9110 10.1.1", "space before the colon", rawPost(rawLength+"Expect : 100-continue\r\n", ""),
		wantBad}, ""},
}

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
