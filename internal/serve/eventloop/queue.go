package eventloop

// Shares of a turn. After its share a connection waits until the events of the others have been polled.
const (
	requestsMax  = 16  // requests of one connection
	pipelinedMax = 256 // requests of all connections, without the first of each
	pendingMax   = 16  // connections that get another share
	awayMax      = 4   // connections that leave for a goroutine; a cold call costs as much as ten hot ones
)

// queue holds connections that wait for their turn. A connection stands in one queue at most.
type queue struct {
	line []ticket
	head int // everything before it is taken
}

// ticket is a place in a queue. It is void once the connection has another ticket or has left: a conn may be
// closed and reused while it waits.
type ticket struct {
	conn   *conn
	number int64
}

// waits reports whether the connection stands in a queue.
func (c *conn) waits() bool { return c.ticket != 0 }

// queueUp puts a connection at the end of a queue.
func (c *conn) queueUp(q *queue) {
	c.server.tickets++
	c.ticket = c.server.tickets
	if q.head > len(q.line)/2 {
		n := copy(q.line, q.line[q.head:])
		clear(q.line[n:])
		q.line, q.head = q.line[:n], 0
	}
	q.line = append(q.line, ticket{c, c.ticket})
}

// take takes the first connection out of the queue. It returns nil if no ticket up to last is left.
func (q *queue) take(last int64) *conn {
	for !q.empty() && q.line[q.head].number <= last {
		t := q.line[q.head]
		q.line[q.head] = ticket{}
		if q.head++; q.empty() {
			q.line, q.head = q.line[:0], 0
		}
		if t.conn.ticket == t.number {
			t.conn.ticket = 0
			return t.conn
		}
	}
	return nil
}

func (q *queue) empty() bool { return q.head == len(q.line) }

// serveWaiting gives waiting connections another share. It reports whether some still wait.
func (s *Server) serveWaiting() bool {
	s.pipelined = 0
	for range pendingMax {
		c := s.pending.take(s.polled)
		if c == nil {
			break
		}
		c.advance()
	}
	for range awayMax {
		c := s.leaving.take(s.tickets)
		if c == nil {
			break
		}
		c.leave()
		s.loop.Yield()
	}
	s.pipelined, s.polled = 0, s.tickets
	return !s.pending.empty() || !s.leaving.empty()
}

// mayServe reports whether a connection may have one more request served in this turn, after so many.
func (s *Server) mayServe(served int) bool {
	if served == 0 {
		return true
	}
	s.pipelined++
	return served < requestsMax && s.pipelined <= pipelinedMax
}
