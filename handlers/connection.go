package handlers

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/framing"
	"flashsale/internal/rawio"
)

// What a connection is doing. It is kept together with since when, as one number.
const (
	opening   = iota // has not sent a byte of its first request; with TLS that includes the handshake
	idle             // waits for another request
	reading          // a request has begun
	serving          // a handler works on it, or waits for Redis, which has a limit of its own
	writing          // a part of the reply is being sent
	lingering        // a request was refused, and what else the client sends is dropped
	states
)

// sweepInterval is how often connections are looked at: a limit holds to within this time.
const sweepInterval = time.Second

// limits is how long a connection may stay in each state; 0 is no limit.
var limits = [states]time.Duration{
	opening: readTimeout, idle: idleTimeout, reading: readTimeout, writing: writeTimeout,
	lingering: lingerTimeout,
}

// sweeper closes connections that stay too long in one state, such as clients that send a request byte by byte. One
// look a second at all connections replaces the three deadlines that fasthttp would set for every request: that saves
// 3.4 of 61 us of CPU an order.
type sweeper struct {
	now       atomic.Int64 // sweeps since the start: a clock that costs a load
	mu        sync.Mutex
	conns     map[*connection]struct{}
	addresses map[netip.Addr]int // connections of each address that is counted
}

func newSweeper() *sweeper {
	return &sweeper{conns: map[*connection]struct{}{}, addresses: map[netip.Addr]int{}}
}

// run sweeps until done is closed.
func (s *sweeper) run(done <-chan struct{}) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sweep()
		case <-done:
			return
		}
	}
}

func (s *sweeper) sweep() {
	now := s.now.Add(1)
	s.closeWhere(func(state, since int64) bool {
		return limits[state] > 0 && time.Duration(now-since)*sweepInterval > limits[state]
	})
}

// add takes in a connection unless there are as many as connsMax already, or as perAddressMax of its address; 0 is no
// limit.
func (s *sweeper) add(c *connection, connsMax, perAddressMax int) (full, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full = connsMax > 0 && len(s.conns) >= connsMax
	crowded = c.address.IsValid() && s.addresses[c.address] >= perAddressMax
	if full || crowded {
		return full, crowded
	}
	s.conns[c] = struct{}{}
	if c.address.IsValid() {
		s.addresses[c.address]++
	}
	return false, false
}

// remove forgets a connection that is being closed, also when it is closed twice.
func (s *sweeper) remove(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.conns[c]; !open {
		return
	}
	delete(s.conns, c)
	if !c.address.IsValid() {
		return
	}
	if s.addresses[c.address]--; s.addresses[c.address] == 0 {
		delete(s.addresses, c.address)
	}
}

// count is how many connections are open.
func (s *sweeper) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// closeIdle closes the connections that wait for a request, also those that never sent one or are refused
// already.
func (s *sweeper) closeIdle() {
	s.closeWhere(func(state, _ int64) bool { return state == opening || state == idle || state == lingering })
}

// closeWhere closes sockets; the goroutine that serves one then gets an error and ends. TLS is not told: its farewell
// waits for a client that does not read.
func (s *sweeper) closeWhere(condition func(state, since int64) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if clock := c.clock.Load(); condition(clock%states, clock/states) {
			c.socket.Close()
		}
	}
}

// connection is a client's connection that knows what it is doing. fasthttp reads whole requests from it,
// each one that framing has accepted and nothing else.
type connection struct {
	net.Conn            // with TLS or without
	socket   net.Conn   // below Conn
	address  netip.Addr // under which it is counted, the zero Addr for none
	sweeper  *sweeper
	clock    atomic.Int64 // states * (sweep at which the state began) + state

	raw   *rawio.Conn // the same as Conn, nil where that is none
	first [1]byte     // of a request, where raw is nil

	received *[]byte // what has come, nil while a request is waited for
	read     int     // in received, up to here fasthttp has read
	end      int     // of the request that fasthttp reads; the next one begins here
	filled   int     // end of what has come
	request  framing.Request
	handed   bool // fasthttp reads a request that is not served yet
}

var requestLimits = framing.Limits{
	Head: headBytesMax, URL: urlBytesMax, Headers: headersMax, Body: bodyBytesMax,
}

// requests are buffers for one request, and for what has come behind it.
var requests = sync.Pool{New: func() any {
	b := make([]byte, headBytesMax+bodyBytesMax)
	return &b
}}

// track notes when the whole reply, which may be a stream, has been sent: only fasthttp knows.
func track(c net.Conn, state fasthttp.ConnState) {
	if c, ok := c.(*connection); ok && state == fasthttp.StateIdle {
		c.enter(idle)
	}
}

func (c *connection) enter(state int64) { c.clock.Store(c.sweeper.now.Load()*states + state) }

// errLonger is for a request that fasthttp takes to be longer than it is.
var errLonger = errors.New("the request has ended")

// Read is how fasthttp waits for a request: with a buffer of one byte, so that an idle connection holds no
// other. What has come with that byte is read along, which saves the second system call. The rest of the
// request follows.
func (c *connection) Read(b []byte) (int, error) {
	if c.read == c.end {
		if len(b) != 1 {
			return 0, errLonger
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

func (c *connection) release() {
	if c.received != nil {
		requests.Put(c.received)
	}
	c.received, c.read, c.end, c.filled = nil, 0, 0, 0
}

// receive waits for a whole request. One that must not be served is answered here, and ends the connection.
func (c *connection) receive() error {
	if c.received == nil {
		if err := c.wait(); err != nil {
			return err
		}
	}
	c.enter(reading)
	c.request = framing.Request{}
	for {
		switch v := c.request.Scan((*c.received)[c.end:c.filled], &requestLimits); v {
		case framing.Whole:
			c.hand()
			return nil
		case framing.Continue: // the body has to come in the time that the request has left
			if _, err := c.Conn.Write(goOn); err != nil {
				return err
			}
		case framing.More:
			if err := c.fill(); err != nil {
				return err
			}
		default:
			c.refuse(v)
			return io.EOF
		}
	}
}

var goOn = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// wait waits for the first bytes of a request and takes a buffer only then.
func (c *connection) wait() (err error) {
	if c.raw != nil {
		c.received, c.filled, err = c.raw.ReadInto(&requests)
		return err
	}
	if _, err := io.ReadFull(c.Conn, c.first[:]); err != nil {
		return err
	}
	c.received = requests.Get().(*[]byte)
	c.filled = copy(*c.received, c.first[:])
	return nil
}

// fill reads more of a request. There is room for it: framing refuses what is longer than the buffer.
func (c *connection) fill() error {
	buffer := *c.received
	if c.end > 0 { // requests that came before it make room
		c.filled = copy(buffer, buffer[c.end:c.filled])
		c.read, c.end = 0, 0
	}
	n, err := c.Conn.Read(buffer[c.filled:])
	c.filled += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) && len(bytes.Trim(buffer[:c.filled], "\r\n")) > 0 {
		c.refuse(framing.BadRequest) // it is cut, and the client may still read
	}
	return err
}

// hand makes the request that is whole the one that fasthttp reads, without what is settled here: fasthttp
// would ask for the body once more, and take trailers for headers.
func (c *connection) hand() {
	text := (*c.received)[c.end:c.filled]
	size, expect, trailers := c.request.Size(), c.request.Expect, c.request.Trailers
	for i := expect.From; i < expect.To; i++ {
		text[i] = ' '
	}
	if cut := trailers.To - trailers.From; cut > 0 {
		copy(text[trailers.From:], text[trailers.To:])
		c.filled -= cut
		size -= cut
	}
	c.read, c.end = c.end, c.end+size
}

// serve notes that a handler begins. It reports whether the request is one that framing has found: where
// fasthttp took a request to be shorter than it is, the rest would come as another one.
func (c *connection) serve() bool {
	c.enter(serving)
	handed := c.handed && c.read == c.end
	c.handed = false
	return handed
}

func (c *connection) Write(b []byte) (int, error) {
	c.enter(writing)
	n, err := c.Conn.Write(b)
	c.enter(serving)
	return n, err
}

func (c *connection) Close() error {
	c.sweeper.remove(c)
	return c.Conn.Close()
}

// abort closes a connection so that the client cannot take it for an end in order: with a reset, and with
// TLS without a farewell.
func abort(c net.Conn) {
	if c, ok := c.(*connection); ok {
		if tcp, ok := c.socket.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // it fails on a closed connection only
		}
		c.socket.Close()
	}
}
