package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

const start = 1_800_000_000 // the first second of a stand, Unix time

const head = "HTTP/1.1 200 OK\r\n\r\n"

// stand is a Hub that only the test moves on, and the connections of its viewers.
type stand struct {
	*testing.T
	*Hub
	limiter *listener.Limiter
	socket  net.Listener
	memory  *figures.Memory
	worker  *figures.Worker
	now     time.Time

	pace   string // of the next second, without its time; the board has those of quiet seconds otherwise
	paces  []posted
	body   string // of GET /sale
	state  State
	keys   string // the most-hit ones
	others string // of the event refused
	looks  atomic.Int64
	tops   atomic.Int64

	answers sync.Mutex // is held while the Hub works: what it asks for comes later
}

// openStand makes a Hub for so many viewers, in a server of two workers.
func openStand(t *testing.T, viewersMax int) *stand {
	t.Helper()
	testkit.KeepLog(t)
	memory, err := figures.New(2)
	testkit.Must(t, err)
	s := &stand{T: t, memory: memory, now: time.Unix(start, 0), state: State{Up: true},
		body: `{"id":"s","state":"open"}`}
	s.worker, err = figures.Join(memory.File(), 0)
	testkit.Must(t, err)
	all, err := figures.View(memory.File())
	testkit.Must(t, err)
	s.putUp()
	s.limiter = listener.NewLimiter(listener.Config{})
	s.socket, err = net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	s.Hub, err = New(Config{Board: all.Board(), SaleID: saleID, Own: s.worker, ViewersMax: viewersMax,
		Sale: func() []byte { return []byte(s.body) },
		Look: func() State {
			s.answers.Lock()
			defer s.answers.Unlock()
			s.looks.Add(1)
			return s.state
		},
		Top: func() []byte {
			s.answers.Lock()
			defer s.answers.Unlock()
			s.tops.Add(1)
			return []byte(s.keys)
		}})
	testkit.Must(t, err)
	s.random = func(n int) int { return n / 2 }
	s.PublishStock([]int64{5, 6})
	s.step()
	t.Cleanup(func() {
		s.End()
		s.step()
		s.watcher.close()
		s.worker.Leave()
		s.socket.Close()
		memory.File().Close()
	})
	return s
}

// step is a turn of the Hub. What it asks for is answered behind it.
func (s *stand) step() {
	s.putUp()
	s.unanswered(func() { s.turn(s.now) })
}

// putUp puts the second that is over on the board.
func (s *stand) putUp() {
	second := s.now.Unix() - 1
	if len(s.paces) > 0 && s.paces[len(s.paces)-1].t == second {
		return
	}
	pace := s.pace
	if s.pace = ""; pace == "" {
		pace = stillness
	}
	s.paces = append(s.paces, posted{second, fmt.Appendf(nil, `{"t":%d,%s}`, second, pace)})
	s.memory.Board().Write(boardText(saleID, []byte(past0), []byte(s.others),
		s.paces[max(len(s.paces)-pacesMax, 0):]))
}

// unanswered does something before anything is answered that the Hub asks meanwhile.
func (s *stand) unanswered(do func()) {
	defer s.Hub.tops.wait()
	defer s.Hub.looks.wait()
	s.answers.Lock()
	defer s.answers.Unlock()
	do()
}

// pass lets one second pass, with all of its turns.
func (s *stand) pass() { s.passWith(func() {}) }

// passWith lets one second pass, and does something behind each of its turns.
func (s *stand) passWith(behind func()) {
	second := s.now.Truncate(time.Second).Add(time.Second)
	for slot := range time.Duration(turnsPerSecond) {
		s.now = second.Add(slot * turnTime)
		s.step()
		behind()
	}
}

// client is the other end of a viewer's connection.
type client struct {
	*stand
	net.Conn
	reader *bufio.Reader
}

// connect makes a connection and its two ends.
func (s *stand) connect() (*client, *listener.Conn) {
	s.Helper()
	near, err := net.Dial("tcp", s.socket.Addr().String())
	testkit.Must(s.T, err)
	s.Cleanup(func() { near.Close() })
	testkit.Must(s.T, near.SetDeadline(time.Now().Add(testkit.Patience)))
	far, err := s.socket.Accept()
	testkit.Must(s.T, err)
	slot, ok := s.limiter.Admit(listener.AddressOf(far.RemoteAddr()))
	if !ok {
		s.Fatal("a connection is refused")
	}
	return &client{s, near, bufio.NewReader(near)}, s.limiter.Hold(far, slot)
}

// join adds a viewer.
func (s *stand) join(root bool, lastID int64) *client {
	s.Helper()
	return s.joinAs(Viewer{Root: root, LastID: lastID})
}

func (s *stand) joinAs(v Viewer) *client {
	s.Helper()
	c := s.enter(v)
	s.step()
	return c
}

// enter connects a viewer that the next turn admits.
func (s *stand) enter(v Viewer) *client {
	s.Helper()
	c, far := s.connect()
	if !s.Reserve(netip.Addr{}) {
		s.Fatal("a viewer is refused")
	}
	v.Stream, v.Head = NewStream(far, s.limiter), []byte(head)
	s.Join(v)
	return c
}

// want reads what it wants to read.
func (c *client) want(text string) {
	c.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(c.reader, got)
	if string(got[:n]) != text {
		c.Fatalf("%v, read\n%q, want\n%q", err, got[:n], text)
	}
}

// wantEnd reads the end of the stream.
func (c *client) wantEnd() {
	c.Helper()
	if rest, err := io.ReadAll(c.reader); err != nil || len(rest) > 0 {
		c.Fatalf("%q and %v, want the end", rest, err)
	}
}

// hello is the first message, with what came before.
func (s *stand) hello(past string) string {
	return head + "retry: 3000\n\n" + past + event("sale", s.id(), s.body) +
		event("stock", s.id(), `{"left":[5,6]}`)
}

func event(name string, id int64, data string) string {
	return fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", name, id, data)
}

// noOrders is the history of a sale without orders.
func (s *stand) noOrders() string { return event("history", s.id(), past0) }

// past0 is the history that is on the board, and stillness the pace of a second in which nothing has
// happened.
const (
	past0     = `{"before":0,"parts":[]}`
	stillness = `"orders":0,"refused":{},"p50_ms":null,"p99_ms":null,"connections":0,"servers":1,"servers_of":1`
)

// quiet is the event of such a second.
func quiet(second int64) string { return paceEvent(second, stillness, `"up","ledger_lag":null`) }

func paceEvent(second int64, pace, redis string) string {
	return event("pace", second, fmt.Sprintf(`{"t":%d,%s,"redis":%s}`, second, pace, redis))
}

// awaitViewers has turns until there are so many viewers.
func (s *stand) awaitViewers(n int) {
	s.Helper()
	testkit.Until(s.T, fmt.Sprintf("%d viewers", n), func() bool {
		s.step()
		return len(s.viewers) == n
	})
	if got := int(s.worker.Viewers.Value()); got != n {
		s.Errorf("%d viewers are counted, want %d", got, n)
	}
	testkit.Until(s.T, "places given back", func() bool { return s.limiter.Count() == n })
}

// wantGone finds out that the server has ended the connection.
func (c *client) wantGone() {
	c.Helper()
	_, _ = c.Write([]byte("?")) // the kernel answers that there is nobody
	if _, err := io.Copy(io.Discard, c.reader); errors.Is(err, os.ErrDeadlineExceeded) {
		c.Error("the connection is still there")
	}
}
