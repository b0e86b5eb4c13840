package handlers

import (
	"bytes"
	"errors"
	"io"
	"net"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

// requests are buffers for one request and for the bytes behind it.
var requests = rawio.NewBuffers(headBytesMax+usualBodyBytes, headBytesMax+longestBodyMax)

// framedListener gives fasthttp connections that deliver whole requests.
type framedListener struct {
	*listener.Listener
	server *Server
}

func (l framedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: c.(*listener.Conn), server: l.server}, nil
}

// framedConn is a connection from which fasthttp reads whole requests: each one that framing has accepted,
// and nothing else. It answers the others itself.
type framedConn struct {
	*listener.Conn
	server *Server // that counts

	received *[]byte // bytes of requests, nil while the connection waits for one
	read     int     // fasthttp has read received up to here
	end      int     // end of the request that fasthttp reads; the next one begins here
	filled   int     // end of the bytes in received
	request  framing.Request
	handed   bool // fasthttp reads a request that is not served yet
	straight int  // requests up to this one that had come before the client could have a reply
	large    bool // it has one of Server.large

	home *eventloop.Server // that has lent it for one request, or nil
	over bool              // a request has been answered
	gone bool              // home
}

// trackState notes when the whole reply, which may be a stream, has been sent: only fasthttp knows.
func trackState(c net.Conn, state fasthttp.ConnState) {
	if c, ok := c.(*framedConn); ok && state == fasthttp.StateIdle {
		c.EnterIdle()
		c.over = true
		c.leaveLarge()
	}
}

// errLonger ends a request that fasthttp takes to be longer than it is.
var errLonger = errors.New("the request has ended")

// Read waits for a request when fasthttp reads with a buffer of one byte: that is how fasthttp waits, so
// that an idle connection holds no other buffer. What comes with that byte is read along, which saves the
// second system call. Further reads deliver the rest of the request.
func (c *framedConn) Read(b []byte) (int, error) {
	if c.read == c.end {
		if len(b) != 1 {
			return 0, errLonger
		}
		if c.over && c.goHome() {
			c.gone = true // for fasthttp the connection ends here
			return 0, io.EOF
		}
		if err := c.receive(); err != nil {
			c.release()
			return 0, err
		}
		c.handed = true
	}
	n := copy(b, (*c.received)[c.read:c.end])
	if c.read += n; c.read == c.filled {
		c.release()
	}
	return n, nil
}

// Close closes the connection, unless it has gone home.
func (c *framedConn) Close() error {
	c.leaveLarge()
	if c.gone {
		return nil
	}
	return c.Conn.Close()
}

func (c *framedConn) release() {
	if c.received != nil {
		requests.Put(c.received)
	}
	c.received, c.read, c.end, c.filled = nil, 0, 0, 0
}

// receive waits for a whole request. One that must not be served is answered here and ends the connection.
func (c *framedConn) receive() (err error) {
	if c.received != nil {
		c.EnterReading() // it came together with the last one
	} else if c.received, c.filled, err = c.ReadInto(&requests.Small); err != nil {
		return err
	}
	c.request = framing.Request{}
	for {
		switch v := c.request.Scan((*c.received)[c.end:c.filled], &c.server.sizes); v {
		case framing.Whole:
			c.hand()
			return nil
		case framing.Continue: // the body has to come in the time that the request has left
			if err := c.WriteInterim(goOn); err != nil {
				return err
			}
		case framing.More:
			if err := c.fill(); err != nil {
				return err
			}
		default:
			c.refuse(refusals[v])
			return io.EOF
		}
	}
}

var goOn = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// fill reads more of a request. There is room for it: framing refuses what is longer than a large buffer.
func (c *framedConn) fill() error {
	if c.end > 0 { // requests that came before it make room
		c.filled = copy(*c.received, (*c.received)[c.end:c.filled])
		c.read, c.end = 0, 0
	} else if c.filled == len(*c.received) && !c.grow() {
		c.refuse(errUnavailable)
		return io.EOF
	}
	buffer := *c.received
	n, err := c.Conn.Read(buffer[c.filled:])
	c.filled += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) && len(bytes.Trim(buffer[:c.filled], "\r\n")) > 0 {
		c.refuse(errBadRequest) // it is cut, and the client may still read
	}
	return err
}

// hand gives the whole request to fasthttp.
func (c *framedConn) hand() {
	c.filled = c.end + len(c.request.Settle((*c.received)[c.end:c.filled]))
	c.read, c.end = c.end, c.end+c.request.Size()
}

// serve notes that a handler begins. It reports whether fasthttp has read exactly the request that framing
// has found. If fasthttp took it to be shorter, the rest would come as another request.
func (c *framedConn) serve() bool {
	c.EnterServing()
	if c.straight++; c.Waited() {
		c.straight = 0
	}
	whole := c.handed && c.read == c.end
	c.handed = false
	return whole
}
