package push

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/centrifugal/protocol"
	"github.com/prometheus/client_golang/prometheus"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

const subscribers = 10_000

// wire is a connection that takes everything and counts the publications.
type wire struct{ took *atomic.Int64 }

func (wire) Name() string                                { return "websocket" }
func (wire) AcceptProtocol() string                      { return "h1" }
func (wire) Protocol() centrifuge.ProtocolType           { return centrifuge.ProtocolTypeJSON }
func (wire) ProtocolVersion() centrifuge.ProtocolVersion { return centrifuge.ProtocolVersion2 }
func (wire) Unidirectional() bool                        { return false }
func (wire) Emulation() bool                             { return false }
func (wire) DisabledPushFlags() uint64                   { return 0 }
func (wire) Close(centrifuge.Disconnect) error           { return nil }
func (wire) PingPongConfig() centrifuge.PingPongConfig {
	return centrifuge.PingPongConfig{PingInterval: -1, PongTimeout: -1}
}

func (w wire) Write(b []byte) error { return w.WriteMany(b) }
func (w wire) WriteMany(list ...[]byte) error {
	for _, b := range list {
		if bytes.Contains(b, []byte(`"pub"`)) {
			w.took.Add(1)
		}
	}
	return nil
}

// fill connects all subscribers.
func fill(b *testing.B, node *centrifuge.Node, channel string, token func(i int) string) *atomic.Int64 {
	b.Helper()
	took := &atomic.Int64{}
	for i := range subscribers {
		c, end, err := centrifuge.NewClient(b.Context(), node, wire{took})
		testkit.Must(b, err)
		b.Cleanup(func() { _ = end() })
		c.HandleCommand(&protocol.Command{Id: 1, Connect: &protocol.ConnectRequest{Token: token(i)}}, 0)
		c.HandleCommand(&protocol.Command{Id: 2, Subscribe: &protocol.SubscribeRequest{Channel: channel}}, 0)
	}
	if n := node.Hub().NumSubscribers(channel); n != subscribers {
		b.Fatalf("%d subscribers", n)
	}
	return took
}

// measure publishes b.N messages, each after the one before has arrived everywhere.
func measure(b *testing.B, took *atomic.Int64, publish func(i int)) {
	before, begin := took.Load(), processorTime()
	b.ResetTimer()
	for i := range b.N {
		publish(i)
		for took.Load() < before+int64(i+1)*subscribers {
			time.Sleep(100 * time.Microsecond)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((processorTime()-begin).Microseconds())/float64(b.N), "cpu-us/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The processor time of a message to 10,000 subscribers: ours, from the log, and that of centrifuge with its
// memory broker, which stores and publishes in one step.
func BenchmarkDeliver(b *testing.B) {
	content := strings.Repeat("x", 100)
	b.Run("ours", func(b *testing.B) {
		st := newStore()
		s := start(b, config(st, roomtest.Redis(b)))
		took := fill(b, s.node, threadPrefix+room, func(i int) string { return ticket(uint32(i + 100)) })
		measure(b, took, func(int) { st.write(b, room, content) })
	})
	b.Run("bare", func(b *testing.B) {
		node, err := centrifuge.New(centrifuge.Config{
			Metrics: centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()}})
		testkit.Must(b, err)
		node.OnConnecting(func(_ context.Context, e centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
			return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: e.Token}}, nil
		})
		node.OnConnect(func(c *centrifuge.Client) {
			c.OnSubscribe(func(_ centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
				reply(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{EnableRecovery: true,
					EnablePositioning: true, EmitPresence: true}}, nil)
			})
		})
		testkit.Must(b, node.Run())
		b.Cleanup(func() { _ = node.Shutdown(context.Background()) })
		took := fill(b, node, "room", strconv.Itoa)
		measure(b, took, func(i int) {
			m := Message{ID: uint64(i + 1), Thread: room, User: bob, Content: content, Created: time.Now()}
			_, err := node.Publish("room", encodeMessage(&m), centrifuge.WithHistory(1000, time.Hour),
				centrifuge.WithClientInfo(&centrifuge.ClientInfo{UserID: userName(bob)}))
			testkit.Must(b, err)
		})
	})
}

// The memory of an idle connection: resident memory of this process with many connections, less that
// without.
func BenchmarkIdleConnection(b *testing.B) {
	const connections = 4000
	cfg := config(newStore(), roomtest.Redis(b))
	cfg.Rate = 2 * connections
	s := start(b, cfg)
	dial(b, s, 1) // what the first one needs for all
	before := resident(b)
	for i := range connections {
		dial(b, s, uint32(100+i))
	}
	testkit.Until(b, "all connections", func() bool { return s.node.Hub().NumClients() == connections+1 })
	after := resident(b)
	for b.Loop() { // nothing is repeated
	}
	b.ReportMetric(float64(after-before)/connections/1024, "KB/connection")
}

func resident(b *testing.B) int {
	b.Helper()
	time.Sleep(time.Second)
	runtime.GC()
	debug.FreeOSMemory()
	text := testkit.ReadFile(b, "/proc/self/statm")
	var size, pages int
	_, err := fmt.Sscan(text, &size, &pages)
	testkit.Must(b, err)
	return pages * os.Getpagesize()
}
