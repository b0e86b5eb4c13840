package eventloop

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
)

// conversations are what clients send at once, with the replies. Where the last of these closes, the
// connection must end.
var conversations = []struct {
	name, sent string
	replies    []reply
}{
	{"kept alive", get("/now") + post("/now/2", "{}") + get("/now/3"),
		[]reply{ok("GET /now "), ok("POST /now/2 {}"), ok("GET /now/3 ")}},
	{"kinds mixed", get("/now") + get("/later") + post("/away/3", "three") + post("/sync", "four") +
		get("/now/5") + get("/away/6") + get("/away/7") + post("/later/8", "8") + get("/later/9") +
		post("/now/10", "ten") + get("/away/11") + get("/now/12"),
		[]reply{ok("GET /now "), ok("GET /later "), ok("POST /away/3 three"), ok("POST /sync four"),
			ok("GET /now/5 "), ok("GET /away/6 "), ok("GET /away/7 "), ok("POST /later/8 8"), ok("GET /later/9 "),
			ok("POST /now/10 ten"), ok("GET /away/11 "), ok("GET /now/12 ")}},
	{"Connection: close", get("/now") + "GET /later HTTP/1.1\r\nConnection: a, close\r\nHost: h\r\n\r\n",
		[]reply{ok("GET /now "), closing("GET /later ")}},
	{"closed by the handler", get("/now") + get("/close"), []reply{ok("GET /now "), closing("GET /close ")}},
	{"closed by the other server", "GET /away HTTP/1.1\r\nConnection: close\r\nHost: h\r\n\r\n",
		[]reply{closing("GET /away ")}},
	{"HTTP/1.0", "POST /later HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", []reply{closing("POST /later x")}},
	{"HTTP/1.0, kept alive", "GET /now HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
		[]reply{ok("GET /now "), closing("GET /2 ")}},
	{"chunked, with trailers", "POST /now HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\nY: z\r\n\r\n" +
		"POST /away HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\ne\r\n0\r\nX: y\r\n\r\n" +
		post("/later", "f"),
		[]reply{ok("POST /now abcd"), ok("POST /away e"), ok("POST /later f")}},
	{"empty lines before", "\r\n\r\n" + get("/now") + "\r\n" + get("/away"),
		[]reply{ok("GET /now "), ok("GET /away ")}},
	{"refused", get("/later") + "GET /\r\n\r\n", []reply{ok("GET /later "), refused(framing.BadRequest)}},
	{"too long", get("/now") + "GET /" + strings.Repeat("x", 300) + " HTTP/1.1\r\n",
		[]reply{ok("GET /now "), refused(framing.URLTooLong)}},
	{"too large", "POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 2049\r\n\r\n",
		[]reply{refused(framing.BodyTooLarge)}},
}

func refused(v framing.Verdict) reply {
	return reply{http.StatusBadRequest, fmt.Sprintf("refused %d", v), true}
}

// The bytes of a conversation come in two pieces, cut anywhere.
func TestConversations(t *testing.T) {
	for _, test := range conversations {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, listener.Config{})
			for cut := range test.sent {
				c := s.dial()
				c.send(test.sent[:cut])
				s.onLoop(func() {}) // it is read
				c.send(test.sent[cut:])
				c.want(test.replies...)
				if test.replies[len(test.replies)-1].close {
					c.wantEnd()
				}
				c.Close()
			}
			s.awaitNone()
		})
	}
}

// A client that has ended what it sends gets all replies.
func TestHalfClosed(t *testing.T) {
	for _, test := range conversations {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, listener.Config{})
			for _, blocked := range []bool{false, true} {
				c := s.dial()
				converse := func() {
					c.send(test.sent)
					c.CloseWrite()
				}
				if blocked { // all of it is there when the loop looks
					s.await(1, listener.Opening)
					s.onLoop(converse)
				} else {
					converse()
				}
				c.want(test.replies...)
				c.wantEnd()
				c.Close()
				s.awaitNone()
			}
		})
	}
}

// What framing accepts and fasthttp cannot read is answered, and ends the connection.
func TestMalformed(t *testing.T) {
	s := open(t, listener.Config{})
	c := s.dial()
	c.send(get("/now"))
	c.want(ok("GET /now "))
	s.onLoop(func() { s.parser.init(16) }) // as if fasthttp could not
	c.send(get("/"), get("/not-served"))
	c.want(reply{http.StatusBadRequest, malformed, true})
	c.wantEnd()
	s.awaitHandled(1)
}
