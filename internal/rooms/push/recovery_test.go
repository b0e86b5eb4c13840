package push

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	server "github.com/centrifugal/centrifuge"
	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

// write stores some messages of Bob.
func (st *store) write(tb testing.TB, thread string, contents ...string) {
	tb.Helper()
	for _, content := range contents {
		_, err := st.Post(thread, bob, "", content)
		testkit.Must(tb, err)
	}
}

// mobile is a device that can be moved between servers.
type mobile struct {
	*device
	target atomic.Pointer[running] // nil: no network
}

func newMobile(tb testing.TB, at *running, user uint32) *mobile {
	tb.Helper()
	m := &mobile{}
	m.target.Store(at)
	m.device = at.device(tb, centrifuge.Config{Token: ticket(user),
		GetToken: func(centrifuge.ConnectionTokenEvent) (string, error) { return ticket(user), nil },
		NetDialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			to := m.target.Load()
			if to == nil {
				return nil, errors.New("no network")
			}
			host := strings.TrimSuffix(strings.TrimPrefix(to.url, "ws://"), Path)
			return (&net.Dialer{}).DialContext(ctx, network, host)
		}})
	m.online()
	return m
}

// away takes the network away.
func (m *mobile) away(from *running) {
	m.tb.Helper()
	m.target.Store(nil)
	for _, c := range from.node.Hub().Connections() {
		c.Disconnect(server.DisconnectForceReconnect)
	}
	testkit.Until(m.tb, "away", func() bool { return m.State() == centrifuge.StateConnecting })
}

// A client that comes back to another server gets what it missed, and is told the truth about it.
func TestRecovery(t *testing.T) {
	redis := roomtest.Redis(t)
	for _, row := range []struct {
		name   string
		change func(*testing.T, *store) // while the client is away
		want   []string
	}{
		{"nothing missed", func(*testing.T, *store) {}, []string{"recovered true"}},
		{"all there", func(t *testing.T, st *store) { st.write(t, them, "a", "b") },
			[]string{"recovered true", "2 a", "3 b"}},
		{"some gone", func(t *testing.T, st *store) {
			st.write(t, them, "a", "b")
			st.change(func() { st.threads[them].first = 2 })
		}, []string{"recovered false"}},
		{"another thread", func(_ *testing.T, st *store) { st.change(func() { st.threads[them].epoch = "e2" }) },
			[]string{"recovered false"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			st := newStore()
			st.write(t, them, "before")
			first, second := start(t, config(st, redis)), start(t, config(st, redis))
			m := newMobile(t, first, ann)
			m.subscribe(them)
			m.away(first)
			row.change(t, st)
			m.target.Store(second)
			m.saw(row.want[0])
			st.write(t, them, "after")
			last := fmt.Sprintf("%d after", len(st.threads[them].messages))
			m.saw(last)
			if got, want := sorted(m.heard()), sorted(append(row.want, last)); !slices.Equal(got, want) {
				t.Errorf("the client saw %q, want %q", got, want)
			}
		})
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// Many clients that come back to a server at once cost a few reads of the thread, also if each has another
// position.
func TestMassRecoveryReadsOnce(t *testing.T) {
	const clients = 1000
	st := newStore()
	for i := range 300 {
		st.write(t, room, fmt.Sprint(i))
	}
	cfg := config(st, roomtest.Redis(t))
	s, err := New(cfg)
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, s.Drain(time.Now())) })
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			v, err := s.histories.get(room).after(uint64(i % 300))
			if err != nil || len(v.messages) != 300-i%300 || v.messages[0].Offset != uint64(i%300)+1 {
				t.Errorf("after %d: %d messages, %v", i%300, len(v.messages), err)
			}
		})
	}
	all.Wait()
	if st.reads > 3 {
		t.Errorf("%d clients cost %d reads", clients, st.reads)
	}
}

// What is stored while a server reads the thread is neither lost nor doubled.
func TestMessagesMeetSubscriptions(t *testing.T) {
	s, st := one(t)
	const messages = 300
	go func() {
		for i := range messages {
			_, _ = st.Post(club, bob, "", fmt.Sprint(i)) // missing ones are found below
			time.Sleep(time.Millisecond / 4)
		}
	}()
	d := s.connect(t, ann)
	for range 20 {
		sub := d.subscribe(club)
		testkit.Must(t, sub.Unsubscribe())
		testkit.Must(t, d.RemoveSubscription(sub))
	}
	sub, err := d.NewSubscription(threadPrefix + club)
	testkit.Must(t, err)
	var begin uint64
	sub.OnSubscribed(func(e centrifuge.SubscribedEvent) { begin = e.StreamPosition.Offset })
	var seen []uint64
	done := make(chan struct{})
	sub.OnPublication(func(e centrifuge.PublicationEvent) {
		if seen = append(seen, e.Offset); e.Offset == messages {
			close(done)
		}
	})
	testkit.Must(t, sub.Subscribe())
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the last message did not come")
	}
	for i, offset := range seen {
		if offset != begin+uint64(i)+1 {
			t.Fatalf("began at %d and saw %v", begin, seen)
		}
	}
}

// Lines of the log that were lost do not lose messages.
func TestLostLines(t *testing.T) {
	s, st := one(t)
	d := s.connect(t, ann)
	d.subscribe(them)
	st.change(func() {
		thread := st.threads[them]
		for i := range 3 { // stored without a line
			thread.messages = append(thread.messages, Message{ID: uint64(i + 1), Thread: them, User: bob,
				Content: "lost", Created: time.Now()})
		}
	})
	st.change(func() { st.log(Entry{What: Missed, Thread: them}) })
	d.saw("3 lost")
	st.change(func() {
		thread := st.threads[them]
		thread.messages = append(thread.messages, Message{ID: 4, Thread: them, User: bob, Content: "lost"})
	})
	st.write(t, them, "found") // the line of the message before never came
	d.saw("5 found")
	want := []string{"1 lost", "2 lost", "3 lost", "4 lost", "5 found"}
	got := d.heard()
	if !slices.Equal(got, want) {
		t.Errorf("the client saw %q, want %q", got, want)
	}
}
