package push

import (
	"testing"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

// conn is a connection to the first Redis of a Config.
func conn(tb testing.TB, cfg Config) *pipeline.Conn {
	tb.Helper()
	c := pipeline.New(cfg.Redis[0], pipeline.Options{})
	testkit.Background(tb, c.Run)
	testkit.Until(tb, "connection", c.Up)
	return c
}

// A member who is removed is unsubscribed on all servers before the removal is answered, and gets nothing
// more.
func TestRemovedMember(t *testing.T) {
	st := newStore()
	cfg := config(st, roomtest.Redis(t))
	first, second := start(t, cfg), start(t, cfg)
	phone, laptop, other := first.connect(t, ann), second.connect(t, ann), second.connect(t, bob)
	for _, d := range []*device{phone, laptop, other} {
		d.subscribe(club)
	}
	fence := NewFence(cfg.Redis)
	testkit.Background(t, fence.Run)
	testkit.Until(t, "signs of life", func() bool {
		first.registry.beat()
		second.registry.beat()
		return first.registry.lives(second.id) && first.registry.lives(first.id)
	})
	part, position := st.remove(club, ann)
	testkit.Must(t, fence.Wait(part, position))
	for _, s := range []*running{first, second} {
		for _, c := range s.node.Hub().UserConnections(userName(ann)) {
			if c.IsSubscribed(threadPrefix + club) {
				t.Error("the removal is answered, and the member still subscribes")
			}
		}
	}
	st.write(t, club, "secret")
	other.saw("1 secret")
	for _, d := range []*device{phone, laptop} {
		d.saw("unsubscribed 2000")
		if got := d.heard(); len(got) != 1 {
			t.Errorf("a removed member saw %q", got)
		}
		if _, err := d.History(t.Context(), threadPrefix+club); code(err) != 103 {
			t.Errorf("history for a removed member: %v", err)
		}
	}
}

// A dead server does not hold up removals for long.
func TestFenceForgetsDeadServers(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	fence := NewFence(cfg.Redis)
	testkit.Background(t, fence.Run)
	if err := fence.Wait(0, 1); err != nil {
		t.Errorf("without a server: %v", err)
	}
	roomtest.Ask[int](t, conn(t, cfg), "ZADD", partKey(0, "servers"), "1000", "dead")
	if err := fence.Wait(0, 1); err != nil {
		t.Errorf("with a dead server: %v", err)
	}
}

func TestPresenceOverServers(t *testing.T) {
	st := newStore()
	cfg := config(st, roomtest.Redis(t))
	first, second := start(t, cfg), start(t, cfg)
	a, b := first.connect(t, ann), second.connect(t, bob)
	testkit.Until(t, "signs of life", func() bool {
		first.registry.beat()
		second.registry.beat()
		return first.registry.lives(second.id)
	})
	a.subscribe(club)
	b.subscribe(club)
	testkit.Until(t, "both seen", func() bool {
		found, err := a.Presence(t.Context(), threadPrefix+club)
		testkit.Must(t, err)
		users := map[string]bool{}
		for _, info := range found.Clients {
			users[info.User] = true
		}
		stats, err := a.PresenceStats(t.Context(), threadPrefix+club)
		testkit.Must(t, err)
		return users["3"] && users["9"] && stats.NumClients == 2 && stats.NumUsers == 2
	})
	testkit.Must(t, b.Disconnect())
	testkit.Until(t, "one left", func() bool {
		stats, err := a.PresenceStats(t.Context(), threadPrefix+club)
		return err == nil && stats.NumClients == 1
	})
}

func TestSaleIsPushed(t *testing.T) {
	st := newStore()
	cfg := config(st, roomtest.Redis(t))
	placed := time.Time{}
	cfg.Ordered = func(uint32) (time.Time, error) { return placed, nil }
	s := start(t, cfg)
	d := s.connect(t, ann)
	for _, name := range []string{saleChannel, foodPrefix + "2"} {
		sub, err := d.NewSubscription(name)
		testkit.Must(t, err)
		sub.OnPublication(func(e centrifuge.PublicationEvent) { d.note("%s %s", name, e.Data) })
		testkit.Must(t, sub.Subscribe())
	}
	testkit.Until(t, "subscribed", func() bool { return s.node.Hub().NumSubscriptions() == 3 })
	s.PublishSale("open", []int64{5, 5}, 0)
	d.saw(`sale {"event":"sale","state":"open"}`)
	d.saw(`sale {"event":"stock","stock":{"1":5,"2":5}}`)
	placed = time.Now()
	s.PublishSale("open", []int64{5, 4}, 1)
	d.saw(`sale {"event":"stock","stock":{"2":4}}`)
	d.saw(`food:2 {"event":"stock","stock":{"2":4}}`)
	d.saw(`user:3 {"event":"order","placed_at":"` + placed.UTC().Format(created) + `"}`)
}
