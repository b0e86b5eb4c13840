package eventloop

import (
	"bytes"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
	"flashsale/internal/testkit"
)

// idleMax is the user memory that an idle connection may cost, in bytes.
const idleMax = 1536

var rawRequest = []byte(post("/raw", `{"food_id":1}`))

// rawClient is a client that allocates nothing. It asks again and again for a reply: a wait in the kernel
// would keep the processor of the Go scheduler from the loop.
type rawClient struct {
	tb    testing.TB
	to    unix.SockaddrInet4
	fd    int
	reply []byte
}

func (s *stand) rawClient() *rawClient {
	s.Helper()
	peer := netip.MustParseAddrPort(s.address)
	return &rawClient{tb: s, to: unix.SockaddrInet4{Addr: peer.Addr().As4(), Port: int(peer.Port())},
		reply: make([]byte, 4096)}
}

func (c *rawClient) connect() {
	c.tb.Helper()
	var err error
	if c.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		err = unix.Connect(c.fd, &c.to)
	}
	if err == nil {
		err = unix.SetNonblock(c.fd, true)
	}
	if err != nil {
		c.tb.Fatal(err)
	}
}

// call makes a request and takes its reply.
func (c *rawClient) call() {
	c.tb.Helper()
	if _, err := rawio.Send(c.fd, rawRequest); err != nil {
		c.tb.Fatal(err)
	}
	n, err := rawio.Receive(c.fd, c.reply)
	for err == rawio.ErrAgain {
		runtime.Gosched()
		n, err = rawio.Receive(c.fd, c.reply)
	}
	if err != nil || !bytes.HasSuffix(c.reply[:n], rawBody) {
		c.tb.Fatalf("reply %q, %v", c.reply[:n], err)
	}
}

func (c *rawClient) close() { rawio.Close(c.fd) }

// A connection that has been served costs little while it waits for the next request.
func TestMemoryOfIdleConnections(t *testing.T) {
	conns := 5000
	var files unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	conns = min(conns, int(files.Cur/2)-100) // both ends are here
	s := open(t, listener.Config{})
	clients := make([]*rawClient, conns)
	for i := range clients {
		clients[i] = s.rawClient()
	}
	first := s.rawClient() // what all share is there
	first.connect()
	first.call()
	defer first.close()
	before := heap()
	for _, c := range clients {
		c.connect()
		defer c.close()
		c.call()
	}
	s.await(conns+1, listener.Idle)
	if each := (heap() - before) / int64(conns); each > idleMax && !testkit.Race {
		t.Errorf("each of %d idle connections costs %d bytes, more than %d", conns, each, idleMax)
	} else {
		t.Logf("each of %d idle connections costs %d bytes", conns, each)
	}
	for _, c := range clients {
		c.call()
	}
	runtime.KeepAlive(clients)
}

func heap() int64 {
	for range 3 { // what a sync.Pool holds lives through two
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// The address of a peer is read as the kernel writes it, in either family.
func TestPeer(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		testkit.Must(t, err)
		defer l.Close()
		socket, err := rawio.Duplicate(l)
		testkit.Must(t, err)
		defer rawio.Close(socket)
		if _, _, err := accept(socket); err != rawio.ErrAgain {
			t.Errorf("accept without a client: %v", err)
		}
		c, err := net.Dial("tcp", l.Addr().String())
		testkit.Must(t, err)
		defer c.Close()
		fd, peer, err := accept(socket)
		testkit.Must(t, err)
		rawio.Close(fd)
		if peer.String() != c.LocalAddr().String() {
			t.Errorf("peer %v, want %v", peer, c.LocalAddr())
		}
	}
}
