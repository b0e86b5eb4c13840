package listener

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"flashsale/internal/serve/rawio"
)

// State is what a connection does now.
type State int64

const (
	Opening   State = iota // before the first byte of the first request; includes the TLS handshake
	Idle                   // waits for another request
	Reading                // a request has begun
	Serving                // a handler works, or waits for Redis, which has its own time limit
	Writing                // a part of the reply is being sent
	Lingering              // a request was refused; further bytes are dropped
	states

	stateBits = 3
)

// LingerBytesMax limits the dropped bytes of a refused request.
const LingerBytesMax = 32 << 20

// Conn is a client's connection that records its state, so that its Limiter can end it in time. Reads and
// writes set most of the states; the server on top sets the others. As with any net.Conn, one goroutine may
// read while another one writes.
type Conn struct {
	net.Conn          // with TLS or without
	socket   net.Conn // without TLS
	slot     Slot
	limiter  *Limiter
	clock    atomic.Int64 // tick at which the state began; the low bits are the state

	raw *rawio.Conn // the same as socket; nil if it is not the kernel's
}

// State returns what the connection is doing, and the tick of its Limiter at which that began.
func (c *Conn) State() (state State, since int64) {
	clock := c.clock.Load()
	return State(clock & (1<<stateBits - 1)), clock >> stateBits
}

func (c *Conn) enter(s State) { c.clock.Store(c.limiter.Now()<<stateBits | int64(s)) }

// EnterReading notes that a request has begun. Read does so with the first bytes; call this for bytes that
// came together with the request before.
func (c *Conn) EnterReading() { c.enter(Reading) }

// EnterServing notes that a request has come whole. The time limit for requests ends here.
func (c *Conn) EnterServing() { c.enter(Serving) }

// EnterIdle notes that the whole reply is sent.
func (c *Conn) EnterIdle() { c.enter(Idle) }

// Read reads as net.Conn does. The first bytes begin a request; later bytes do not extend its time limit.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.begin()
	}
	return n, err
}

// Waited reports whether a read has had to wait for the client since the last call. It returns true for a
// connection that is no socket of the kernel.
func (c *Conn) Waited() bool { return c.raw == nil || c.raw.Waited() }

// begin notes that a request begins, unless one is under way.
func (c *Conn) begin() {
	if state, _ := c.State(); state == Opening || state == Idle {
		c.enter(Reading)
	}
}

// Write sends a part of a reply.
func (c *Conn) Write(b []byte) (int, error) {
	c.enter(Writing)
	n, err := c.Conn.Write(b)
	c.enter(Serving)
	return n, err
}

// WriteInterim sends bytes outside a reply, such as "100 Continue". It does not extend the time limit.
func (c *Conn) WriteInterim(b []byte) error {
	_, err := c.Conn.Write(b)
	return err
}

// CloseWrite ends the sending direction; the client can still send.
func (c *Conn) CloseWrite() error {
	if encrypted, ok := c.Conn.(*tls.Conn); ok {
		_ = encrypted.CloseWrite() // the socket's own end follows
	}
	socket, ok := c.socket.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return socket.CloseWrite()
}

// Linger ends the sending direction and drops what the client still sends, up to LingerBytesMax and for
// LingerTimeout; buffer is for the reads. Many clients send a whole body before they read. Closing at once
// would reset the connection, and the client would lose the reply (RFC 9112, 9.6).
func (c *Conn) Linger(buffer []byte) {
	c.enter(Lingering)
	if c.CloseWrite() != nil {
		return
	}
	for dropped := 0; dropped < LingerBytesMax; {
		n, err := c.socket.Read(buffer)
		if err != nil {
			return
		}
		dropped += n
	}
}

// Close closes the connection and makes room for another one.
func (c *Conn) Close() error {
	if c.limiter.remove(c) {
		c.limiter.Leave(c.slot)
	}
	return c.Conn.Close()
}

// LetGo ends Hold: the caller gets the socket and its slot back. It returns false if the connection has been
// closed.
func (c *Conn) LetGo() (socket net.Conn, p Slot, ok bool) {
	return c.socket, c.slot, c.limiter.remove(c)
}

// Detach is LetGo with a separate descriptor of the socket, which the Go runtime does not watch. It returns
// false and changes nothing if there is no plain socket of the kernel, as with TLS.
func (c *Conn) Detach() (socket int, p Slot, ok bool) {
	if _, plain := c.Conn.(*rawio.Conn); !plain {
		return -1, p, false
	}
	socket, err := rawio.Duplicate(c.socket)
	if err != nil {
		return -1, p, false
	}
	if !c.limiter.remove(c) {
		rawio.Close(socket)
		return -1, p, false
	}
	c.socket.Close()
	return socket, c.slot, true
}

// Descriptor returns the socket's number while the connection is open, -1 for a connection in memory.
func (c *Conn) Descriptor() (number int) {
	number = -1
	if socket, ok := c.socket.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { number = int(fd) }) // it fails only on a closed connection
		}
	}
	return number
}

// Abort resets the connection, with TLS without a farewell: the client cannot take that for a normal end.
func (c *Conn) Abort() {
	if tcp, ok := c.socket.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it fails only on a closed connection
	}
	c.socket.Close()
}
