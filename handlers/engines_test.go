package handlers

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"golang.org/x/sys/unix"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// opener opens a shop that is served until the test ends.
type opener = func(tb testing.TB, network, address string) *shop

// onBoth runs a test on both engines. (That the in-memory engine of Redis does the same is proved in
// redisx.)
func onBoth(t *testing.T, test func(t *testing.T, s *shop)) {
	onEngines(t, func(t *testing.T, open opener) { test(t, open(t, "unix", redistest.Start(t).Socket)) })
}

// onEngines is onBoth for a test that opens its shops by itself.
func onEngines(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("goroutines", func(t *testing.T) { test(t, open) })
	t.Run("event loop", func(t *testing.T) { test(t, openOnLoop) })
}

// open opens a shop on the goroutine engine, behind an in-memory listener.
func open(tb testing.TB, network, address string) *shop {
	tb.Helper()
	s := newShop(tb, network, address, nil)
	l := fasthttputil.NewInmemoryListener()
	s.l, s.dial = l, l.Dial
	s.run(tb)
	return s
}

// openOnLoop opens a shop on the event loop, on a port of this machine.
func openOnLoop(tb testing.TB, network, address string) *shop {
	tb.Helper()
	loop := looptest.Run(tb)
	var s *shop
	looptest.On(loop, func() { s = newShop(tb, network, address, loop) })
	var err error
	local := net.ListenConfig{Control: withBuffer(unix.SO_SNDBUF)}
	if s.l, err = local.Listen(tb.Context(), "tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	client := net.Dialer{Control: withBuffer(unix.SO_RCVBUF)}
	to := s.l.Addr().String()
	s.dial = func() (net.Conn, error) { return client.Dial("tcp", to) }
	s.run(tb)
	return s
}

// withBuffer makes a buffer of the kernel small: what a client does not read then waits in the server.
func withBuffer(option int) func(network, address string, c syscall.RawConn) error {
	const size = 16 << 10
	return func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, size)
		})
		return errors.Join(failed, err)
	}
}

// do runs f where handlers of hot calls run, and returns when it has.
func (s *shop) do(f func()) {
	if s.cfg.Loop == nil {
		f()
	} else {
		looptest.On(s.cfg.Loop, f)
	}
}

// takeLong adds POST /long, which takes the longest bodies and answers with their length.
func (s *shop) takeLong() {
	handle := func(ctx *fasthttp.RequestCtx, _ Call) {
		replyBody(ctx, strconv.AppendInt(nil, int64(len(ctx.PostBody())), 10))
	}
	s.do(func() {
		s.Add(func(*Server) []Route {
			return []Route{{"POST", "/long", s.anybody, takes(longestBodyMax), handle}}
		})
	})
}

// join serves the sale with one room more, and with the service token.
func (s *shop) join(room Room) {
	s.rooms = append(s.rooms, room)
	s.do(func() {
		s.cfg.ServiceToken, s.table = serviceToken, s.saleRoutes()
		s.Add(s.rooms...)
	})
}

// tick makes all connections older, until a limit of time that begins now is over.
func (s *shop) tick(limit time.Duration) {
	s.do(func() {}) // the loop notes when a wait begins after it has sent the bytes that a test has read
	for range limit/listener.TickInterval + 1 {
		s.limiter.Tick()
	}
	s.do(func() {}) // the loop closes its own connections
}

// twin makes a shop of the same sale with another Config, and with more rooms. Nothing serves it yet.
func (s *shop) twin(change func(*Config), rooms ...Room) *shop {
	cfg := s.cfg
	change(&cfg)
	twin := &shop{}
	s.do(func() {
		twin.Server = New(cfg)
		twin.Add(append(slices.Clone(s.rooms), rooms...)...)
	})
	twin.foods.Store(s.foods.Load())
	return twin
}

// listen returns a port of this machine on which the shop is served until the test ends.
func (s *shop) listen(tb testing.TB) (address string) {
	tb.Helper()
	if s.loop != nil && s.l != nil { // a loop serves one listener
		return s.l.Addr().String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(tb, err)
	address = l.Addr().String()
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	tb.Cleanup(func() {
		if s.loop == nil {
			s.draining.Store(true)
			l.Close()
		} else if err := s.Drain(context.Background(), context.Background(), l); err != nil {
			tb.Error(err)
		}
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return address
}

// awaitRedis returns once Redis answers, and no reply is due any more.
func (s *shop) awaitRedis(tb testing.TB) {
	tb.Helper()
	testkit.Until(tb, "answer of Redis", func() bool {
		return s.cfg.Sale.Check() == nil && errors.Is(s.orderNothing(), redisx.ErrCartEmpty)
	})
}

// orderNothing orders a cart that is not there.
func (s *shop) orderNothing() error {
	done := make(outcome, 1)
	s.do(func() { s.cfg.Sale.PlaceOrder(0, []byte("none"), nil, done) })
	return <-done
}

// outcome takes the redisx.Outcome of one change.
type outcome chan error

func (o outcome) Done(err error) { o <- err }
