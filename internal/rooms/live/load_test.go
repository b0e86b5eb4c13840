package live

import (
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

// With more viewers than the Hub may write to in a second, each gets several seconds at once and misses
// none. A change of the state is for all at once.
func TestManyViewers(t *testing.T) {
	const viewers = 50
	s := openStand(t, viewers)
	s.writesMax = 1 // 20 a second
	clients := make([]*client, viewers)
	for i := range clients {
		clients[i] = s.join(false, 0)
		clients[i].want(s.hello(s.noOrders()))
	}
	for range 10 {
		s.pass()
	}
	if n := s.behind(); n != 2 {
		t.Errorf("the last viewer is %d s behind, want 2", n)
	}
	s.body = `{"id":"s","state":"closed"}`
	s.pass()
	if n := s.behind(); n != 0 {
		t.Errorf("the last viewer is %d s behind when the state changes", n)
	}
	var all string
	for second := int64(start); second < s.second; second++ {
		if all += quiet(second); second == start+10 {
			all += event("sale", second, s.body)
		}
	}
	for _, c := range clients {
		c.want(all)
	}
	if n := s.worker.ViewersDropped.Value(); n != 0 {
		t.Errorf("%d viewers are dropped", n)
	}
}

// behind is how many seconds the viewer that has got least is behind.
func (s *stand) behind() (most int64) {
	for _, v := range s.viewers {
		most = max(most, s.latest-v.got)
	}
	return most
}

// crowd is viewers without connections.
type crowd struct {
	*stand
	sent, joined int
}

// member is the Stream of one of them.
type member struct{ *crowd }

func (m member) Size(int)        {}
func (m member) Close()          {}
func (m member) Abort()          {}
func (m member) Descriptor() int { return -1 }

func (m member) Send(text []byte) (taken int, open bool) {
	m.sent++
	return len(text), true
}

func (c *crowd) join() {
	if !c.Reserve(netip.Addr{}) {
		c.Fatal("a viewer is refused")
	}
	c.Join(Viewer{Stream: member{c}, Head: []byte(head)})
	c.joined++
}

// reload has some viewers leave and others join, each with a turn of its own.
func (c *crowd) reload() {
	for range 5 {
		c.remove(c.viewers[c.joined*7919%len(c.viewers)])
		c.join()
		c.step()
	}
}

// Ten thousand viewers of a worker have each second's figures within 5 seconds, and a new state within 2, at
// no more than 2,000 writes a second, however many join and leave. README.md has these numbers.
func TestWritesMax(t *testing.T) {
	const viewers, within, perSecond = 10_000, 5, 2000
	c := &crowd{stand: openStand(t, viewers)}
	for range viewers {
		c.join()
	}
	for len(c.viewers) < viewers {
		c.step()
	}
	for _, meanwhile := range []func(){func() {}, c.reload} {
		for range 3 * within {
			c.sent, c.joined = 0, 0
			c.passWith(meanwhile)
			if writes := c.sent - 2*c.joined; writes > perSecond {
				t.Errorf("%d writes in a second in which %d viewers join, want at most %d", writes, c.joined,
					perSecond)
			}
		}
		if n := c.behind(); n >= within {
			t.Errorf("the last viewer is %d s behind", n)
		}
	}
	c.body = `{"id":"s","state":"closed"}`
	c.pass()
	c.pass()
	if n := c.behind(); n > 1 {
		t.Errorf("the last viewer is %d s behind after a change of the state", n)
	}
}

// A viewer that does not read is dropped when its socket takes no more, and takes no memory of the server
// until then; the others go on.
func TestSlowViewer(t *testing.T) {
	s := openStand(t, 10)
	fast := s.join(false, 0)
	fast.want(s.hello(s.noOrders()))
	slow := s.enter(Viewer{})
	testkit.Must(t, slow.Conn.(*net.TCPConn).SetReadBuffer(4<<10))
	s.step()
	long := strings.Repeat("x", 1<<10)
	for i := 0; len(s.viewers) == 2; i++ {
		if i == 1000 {
			t.Fatal("a viewer that reads nothing is still there after a megabyte")
		}
		s.body = `{"id":"` + long + string(rune('a'+i%20)) + `"}`
		s.pass()
		fast.want(quiet(s.id()) + event("sale", s.id(), s.body))
		if s.second%beatSeconds == 0 {
			fast.want(": beat\n\n")
		}
	}
	if n := s.worker.ViewersDropped.Value(); n != 1 {
		t.Errorf("%d viewers are counted as slow, want 1", n)
	}
	slow.wantGone()
	s.awaitViewers(1)
}

// The first message may be longer than what a socket takes at once.
func TestLongFirstMessage(t *testing.T) {
	s := openStand(t, 10)
	stock := make([]int64, 1_000_000)
	for i := range stock {
		stock[i] = 1_000_000
	}
	s.PublishStock(stock)
	c := s.join(false, 0)
	all := make(chan string, 1)
	want := strings.TrimSuffix(s.hello(s.noOrders()), event("stock", s.id(), `{"left":[5,6]}`)) +
		event("stock", s.id(), `{"left":`+string(list(stock))+`}`)
	go func() {
		text := make([]byte, len(want))
		n, _ := io.ReadFull(c.reader, text)
		all <- string(text[:n])
	}()
	testkit.Until(t, "end of the first message", func() bool {
		s.slot = 0 // the next one has come
		s.step()
		return len(s.viewers) == 1 && s.viewers[0].rest == nil
	})
	if got := <-all; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	s.pass()
	c.want(quiet(start))

	slow := s.enter(Viewer{}) // which reads nothing
	testkit.Must(t, slow.Conn.(*net.TCPConn).SetReadBuffer(4<<10))
	for range 2 + int(helloTime.Seconds()) {
		s.pass()
	}
	s.awaitViewers(1)
	slow.wantGone()
}

// A viewer costs no goroutine and less than a kilobyte of the server's memory. The bounds leave room for
// what the rest of the process does meanwhile.
func TestMemory(t *testing.T) {
	viewers := viewersFor(t, 2000)
	s := openStand(t, viewers)
	s.join(false, 0) // what the first one takes for all
	clients := make([]*client, viewers-1)
	streams := make([]Viewer, viewers-1)
	for i := range clients {
		c, far := s.connect()
		clients[i], streams[i] = c, Viewer{Stream: NewStream(far, s.limiter)}
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range streams {
		if !s.Reserve(netip.Addr{}) {
			t.Fatal("a viewer is refused")
		}
		streams[i].Head = []byte(head)
		s.Join(streams[i])
		streams[i].Head = nil
	}
	s.awaitViewers(viewers)
	s.pass()
	each := (heap() - before) / int64(viewers)
	t.Logf("%d viewers take %d bytes each", viewers, each)
	if each > 1000 {
		t.Errorf("a viewer takes %d bytes", each)
	}
	if n := runtime.NumGoroutine() - goroutines; n > viewers/10 {
		t.Errorf("%d goroutines for %d viewers", n, viewers)
	}
	runtime.KeepAlive(clients)
}

// viewersFor is how many viewers there are descriptors for, both ends of each connection; wanted at most.
func viewersFor(t *testing.T, wanted int) int {
	t.Helper()
	const others, fewest = 200, 500
	var limit unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	n := int(min(limit.Cur, 1<<20)) - others
	if n /= 2; n < fewest {
		t.Skipf("ulimit -n is %d", limit.Cur)
	}
	return min(wanted, n)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
