package eventloop

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/listener"
)

// Exchange is a request and its reply. A Handler fills in the response at once, or calls Later or Decline.
// The time of the request is its ConnTime; Time is not set. Its Conn has a method Peer for the client's IP
// address.
type Exchange struct {
	fasthttp.RequestCtx
	conn *conn
	end  end
	step step

	// Attachment belongs to the Handler. It survives the reuse of the Exchange.
	Attachment any

	head []byte // scratch
}

// step is how far an exchange has come.
type step uint8

const (
	handling step = iota
	later         // the reply comes after the Handler returns
	declined
)

// end is the part of a connection that fasthttp needs. Only RemoteAddr and Peer may be called.
type end struct {
	net.Conn
	peer netip.AddrPort
}

// Peer is the IP address of the client's end. Unlike RemoteAddr it does not allocate.
func (e *end) Peer() netip.Addr { return e.peer.Addr().Unmap().WithZone("") }

func (e *end) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(e.peer) }

// Later postpones the reply until Finish is called.
func (x *Exchange) Later() { x.step = later }

// AtOnce undoes Later for a Handler that has failed: the reply is sent when the Handler returns. Finish must
// not be called afterwards.
func (x *Exchange) AtOnce() { x.step = handling }

// Finish sends the reply of an exchange after Later. It runs on the loop's thread: within the Handler of the
// same exchange, or while no Handler runs.
func (x *Exchange) Finish() {
	if x.conn.exchange != x { // the Handler still runs
		x.AtOnce()
		return
	}
	c := x.conn
	c.exchange = nil
	if c.ending == broken {
		x.free(c.server)
		c.close()
		return
	}
	x.reply()
	c.advance()
}

// Decline leaves the request to the server behind Config.Away, without the Handler's changes.
func (x *Exchange) Decline() { x.step = declined }

// Declined reports whether Decline was called for the request.
func (x *Exchange) Declined() bool { return x.step == declined }

// serve serves the whole request at the beginning of the buffer. It returns false if the connection is gone
// or about to leave.
func (c *conn) serve() bool {
	s := c.server
	closes, request := c.in.Request.Close, c.in.Whole()
	x := s.exchanges.Get().(*Exchange)
	x.conn, x.step, x.end.peer = c, handling, c.peer
	x.Init2(&x.end, quiet, false)
	x.Response.Header.SetNoDefaultContentType(true)
	if s.parser.read(&x.Request, request) {
		s.cfg.Handler(x)
	} else {
		s.cfg.Malformed(&x.RequestCtx)
	}
	if x.step == declined {
		x.free(s)
		return c.decline()
	}
	c.state = listener.Serving
	if closes {
		c.ending = closesAfter
	}
	c.in.Next()
	if x.step == later {
		c.exchange = x
	} else {
		x.reply()
	}
	return true
}

// decline makes the connection wait for its handover. If it still has replies to send, it serves the request
// again after them. It returns false if nothing is left to do.
func (c *conn) decline() bool {
	c.in.Again()
	if len(c.server.out) > 0 && !c.flush() {
		return false
	}
	if len(c.unsent) > 0 {
		return true
	}
	c.enter(listener.Serving)
	c.queueUp(&c.server.leaving)
	return false
}

// quiet drops fasthttp's log of single requests.
var quiet = quietLogger{}

type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}

// reply appends the reply to server.out, in the form of fasthttp's own server.
func (x *Exchange) reply() {
	c := x.conn
	if x.IsHead() {
		x.Response.SkipBody = true
	}
	if x.Request.Header.ConnectionClose() || x.Response.ConnectionClose() {
		c.ending = closesAfter
	}
	if c.ending != goesOn {
		x.Response.SetConnectionClose()
	} else if !x.Request.Header.IsHTTP11() {
		x.Response.Header.Set(fasthttp.HeaderConnection, "keep-alive")
	}
	c.server.out = x.appendReply(c.server.out)
	x.free(c.server)
}

func (x *Exchange) appendReply(dst []byte) []byte {
	r := &x.Response
	body := r.Body()
	if !r.SkipBody || len(body) > 0 {
		r.Header.SetContentLength(len(body))
	}
	x.head = r.Header.AppendBytes(x.head)
	dst = append(dst, x.head...)
	if !r.SkipBody {
		dst = append(dst, body...)
	}
	return dst
}

func (x *Exchange) free(s *Server) {
	x.Request.Reset()
	x.Response.Reset()
	x.ResetUserValues()
	x.conn = nil
	s.exchanges.Put(x)
}

// parser parses a whole request.
type parser struct {
	source bytes.Reader
	buffer *bufio.Reader
}

func (p *parser) init(size int) { p.buffer = bufio.NewReaderSize(&p.source, size) }

// read reports whether fasthttp has read exactly the request that framing has found. If fasthttp read less,
// the rest would pass for another request.
func (p *parser) read(r *fasthttp.Request, text []byte) bool {
	p.source.Reset(text)
	p.buffer.Reset(&p.source)
	if err := r.Header.Read(p.buffer); err != nil {
		return false
	}
	if err := r.ContinueReadBody(p.buffer, len(text), false); err != nil {
		return false
	}
	return p.buffer.Buffered() == 0 && p.source.Len() == 0
}
