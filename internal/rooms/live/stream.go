package live

import (
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

// Stream is the connection of a viewer.
type Stream interface {
	// Size tells how long the first message is, in bytes.
	Size(first int)
	// Send takes as much of a text as there is room for, without waiting. The text must not change any more.
	// It reports false where the connection is gone.
	Send(text []byte) (taken int, open bool)
	// Close ends the connection. What was taken still arrives.
	Close()
	// Abort ends the connection with all that waits to be sent.
	Abort()
	// Descriptor is the number of the socket, -1 without a socket.
	Descriptor() int
}

// NewStream makes a Stream of a connection that it takes over: a socket alone if possible, else with a
// goroutine.
func NewStream(c *listener.Conn, limiter *listener.Limiter) Stream {
	if number, slot, ok := c.Detach(); ok {
		return &socket{number: number, slot: slot, limiter: limiter}
	}
	s := &connection{conn: c, texts: make(chan []byte, textsMax), gone: make(chan struct{})}
	go s.write()
	return s
}

// The room in the kernel for what a viewer has not read yet, in bytes: for its first message, or a part of
// it, and for some seconds. Only unread bytes take memory.
const (
	sendBuffer    = 16 << 10
	sendBufferMax = 256 << 10
)

// socket is a Stream without a goroutine.
type socket struct {
	number  int
	slot    listener.Slot
	limiter *listener.Limiter
}

// Size keeps the buffer of the kernel small. It would grow to megabytes for a viewer that reads nothing.
func (s *socket) Size(first int) {
	size := min(sendBuffer+first, sendBufferMax)
	// It fails only without a socket.
	_ = unix.SetsockoptInt(s.number, unix.SOL_SOCKET, unix.SO_SNDBUF, size)
}

func (s *socket) Send(text []byte) (taken int, open bool) {
	taken, err := rawio.Send(s.number, text)
	return taken, err == nil
}

func (s *socket) Close() {
	rawio.Close(s.number)
	s.limiter.Leave(s.slot)
}

func (s *socket) Abort() {
	// Else the kernel would keep what waits, and try to send it for minutes.
	_ = unix.SetsockoptLinger(s.number, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	s.Close()
}

func (s *socket) Descriptor() int { return s.number }

const (
	textsMax  = 8                // that wait for the goroutine of a connection
	writeTime = 10 * time.Second // for one of them
	closeTime = time.Second      // for all that wait, at the end
)

// connection is a Stream with a goroutine that writes, such as one over TLS.
type connection struct {
	conn  *listener.Conn
	texts chan []byte
	gone  chan struct{} // closed when a write has failed
}

func (c *connection) write() {
	defer c.conn.Close()
	for text := range c.texts {
		_ = c.conn.SetWriteDeadline(time.Now().Add(writeTime)) // on a closed connection the write fails
		if _, err := c.conn.Write(text); err != nil {
			close(c.gone)
			for range c.texts { // the Hub has not noticed yet
			}
			return
		}
	}
}

func (c *connection) Size(int) {}

func (c *connection) Send(text []byte) (taken int, open bool) {
	select {
	case <-c.gone:
		return 0, false
	case c.texts <- text:
		return len(text), true
	default:
		return 0, true
	}
}

func (c *connection) Close() {
	close(c.texts)
	time.AfterFunc(closeTime, c.conn.Abort)
}

func (c *connection) Abort() {
	c.conn.Abort()
	close(c.texts)
}

func (c *connection) Descriptor() int { return c.conn.Descriptor() }
