package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const saleID = "s"

// server is a Keeper that only the test moves on, and the worker whose figures it reads.
type server struct {
	*testing.T
	*Keeper
	worker *figures.Worker
	clock  *roomtest.Clock
	reader reader
}

// openServer makes a server of the sale. Its seconds are those of the clock, which all servers share.
func openServer(t *testing.T, redis pipeline.Config, clock *roomtest.Clock, name string) *server {
	t.Helper()
	testkit.KeepLog(t)
	memory, err := figures.New(1)
	testkit.Must(t, err)
	t.Cleanup(func() { memory.File().Close() })
	worker, err := figures.Join(memory.File(), 0)
	testkit.Must(t, err)
	t.Cleanup(worker.Leave)
	worker.Sale.Set(figures.SaleNumber(saleID))
	s := &server{T: t, worker: worker, clock: clock, reader: reader{board: memory.Board(), sale: saleID}}
	s.Keeper = NewKeeper(KeeperConfig{Redis: redis, Figures: memory, Sale: saleID, Server: name})
	s.Keeper.at = func() string { return strconv.FormatInt(clock.Now().UnixMilli(), 10) }
	testkit.Background(t, s.redis.Run)
	if redis.Address != roomtest.Nowhere().Address {
		testkit.Until(t, "connection", s.redis.Up)
		testkit.Must(t, s.Prepare(t.Context()))
	}
	s.reader.read()
	return s
}

// does has the worker place orders and refuse calls.
func (s *server) does(sold int64, took []time.Duration, refused ...string) {
	s.worker.SaleOrders.Set(sold)
	call := s.worker.Calls.Index(timedCall)
	for _, d := range took {
		s.worker.OrdersPlaced.Inc()
		s.worker.Calls.Count(call, 200, d)
	}
	for _, code := range refused {
		s.worker.Refusals.Inc(s.worker.Refusals.Index([]byte(code)))
	}
}

// second ends a second: each server adds it, then each reads it.
func second(servers ...*server) {
	servers[0].clock.Add(time.Second)
	for _, s := range servers {
		s.Helper()
		own := s.count()
		if !s.write(&own) {
			s.Fatal("Redis does not answer")
		}
	}
	for _, s := range servers {
		s.show()
	}
}

// pace is the last one on the board.
func (s *server) pace() string {
	s.Helper()
	news := s.reader.read()
	if len(news) == 0 {
		s.Fatal("no new second is on the board")
	}
	return string(news[len(news)-1].pace)
}

// past is the history on the board.
func (s *server) past() (p past) {
	s.Helper()
	s.reader.read()
	testkit.Must(s.T, json.Unmarshal(s.reader.history, &p))
	return p
}

// wantOthers expects refusals that are not public.
func (s *server) wantOthers(want string) {
	s.Helper()
	if got := string(s.reader.others); got != want {
		s.Errorf("others %s, want %s", got, want)
	}
}

func (s *server) want(pace string) {
	s.Helper()
	if got := s.pace(); got != pace {
		s.Errorf("pace %s, want %s", got, pace)
	}
}

// UnmarshalJSON is for tests alone.
func (m *missing) UnmarshalJSON(text []byte) error {
	var list [4]int64
	err := json.Unmarshal(text, &list)
	*m = missing{list[0], list[1], list[2], list[3]}
	return err
}

func newClock() *roomtest.Clock {
	return roomtest.NewClock(time.Unix(start, int64(150*time.Millisecond)))
}

const ms = time.Millisecond

// The figures of two servers sum up: counts are added, and quantiles are those of all orders, not averages
// of quantiles. Both servers show the same.
func TestServersTogether(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		clock := newClock()
		a, b := openServer(t, redis, clock, "a"), openServer(t, redis, clock, "b")
		second(a, b)
		still := fmt.Sprintf(`{"t":%d,"orders":0,"refused":{},"p50_ms":null,"p99_ms":null,"p99_1s_ms":0,`+
			`"connections":0,"servers":2,"servers_of":2}`, start)
		a.want(still)
		b.want(still)

		a.worker.Connections.Set(3)
		b.worker.Connections.Set(40)
		a.does(1000, slices.Repeat([]time.Duration{80 * time.Microsecond}, 900), "SALE_PAUSED", "CART_EMPTY",
			"WRONG_CODE")
		b.does(990, slices.Repeat([]time.Duration{80 * ms}, 100), "SALE_PAUSED") // it knows less of the sale
		second(a, b)
		all := fmt.Sprintf(`{"t":%d,"orders":1000,"refused":{"CART_EMPTY":1,"SALE_PAUSED":2},"p50_ms":0.06,`+
			`"p99_ms":95,"p99_1s_ms":95,"connections":43,"servers":2,"servers_of":2}`, start+1)
		a.want(all)
		b.want(all)
		if p := a.past(); p.Peak != 1000 {
			t.Errorf("at once the peak is %d", p.Peak)
		}
		second(a, b)
		a.want(fmt.Sprintf(`{"t":%d,"orders":0,"refused":{},"p50_ms":0.06,"p99_ms":95,`+
			`"p99_1s_ms":0,"connections":43,"servers":2,"servers_of":2}`, start+2))
		for _, s := range []*server{a, b} {
			p := s.past()
			one := p.Parts[0]
			if len(p.Parts) != 1 || one.Step != 1 || one.From != start || string(one.Orders) != "[0,1000,0]" ||
				string(one.Refused) != "[0,3,0]" || string(one.P99) != "[0,95,0]" ||
				string(one.Connections) != "[0,43,43]" || p.Before != 0 || p.Peak != 1000 ||
				fmt.Sprint(p.Minute) != fmt.Sprintf("[{%d %v}]", start+1, p.Refused) ||
				fmt.Sprint(p.Refused) != "map[CART_EMPTY:1 SALE_PAUSED:2]" || len(p.Missing) > 0 {
				t.Errorf("history %s", s.reader.history)
			}
			s.wantOthers(`{"refused":{"WRONG_CODE":1},"last_minute":{"WRONG_CODE":1}}`)
		}
	})
}

// A server that is away is named for ten seconds, then it has left the set; one that ends well leaves at
// once. What a server has counted meanwhile is no second's, but the sale's.
func TestServerAway(t *testing.T) {
	redis, clock := roomtest.Redis(t), newClock()
	a, b := openServer(t, redis, clock, "a"), openServer(t, redis, clock, "b")
	servers := func() (text string) {
		text = a.pace()
		return text[strings.Index(text, `"servers"`):]
	}
	second(a, b)
	for range 10 {
		second(a)
		if got := servers(); got != `"servers":1,"servers_of":2}` {
			t.Fatal(got)
		}
	}
	second(a)
	if got := servers(); got != `"servers":1,"servers_of":1}` {
		t.Errorf("after ten seconds %s", got)
	}
	p := a.past()
	if got := fmt.Sprint(p.Missing); got != fmt.Sprintf("[{%d %d 1 2}]", start+1, start+11) {
		t.Errorf("missing %s", got)
	}
	b.does(0, nil, slices.Repeat([]string{"SALE_PAUSED"}, 50)...)
	second(a, b)
	if got := a.pace(); !strings.Contains(got, `"refused":{}`) ||
		!strings.HasSuffix(got, `"servers":1,"servers_of":2}`) {
		t.Errorf("when it is back %s", got)
	}
	second(a, b)
	if got := servers(); got != `"servers":2,"servers_of":2}` {
		t.Errorf("a second later %s", got)
	}
	if p := a.past(); p.Refused["SALE_PAUSED"] != 50 || len(p.Minute) > 0 {
		t.Errorf("refused %v, in the last minute %v", p.Refused, p.Minute)
	}
	b.leave()
	second(a)
	if got := servers(); got != `"servers":1,"servers_of":1}` {
		t.Errorf("after a server has ended %s", got)
	}
}

// A server that starts, or starts again, shows the curve from the beginning, with the marks.
func TestCurveOfAStart(t *testing.T) {
	redis, clock := roomtest.Redis(t), newClock()
	a := openServer(t, redis, clock, "a")
	for i := range int64(20) {
		a.does(2*i, nil, "CART_EMPTY")
		second(a)
	}
	clock.Add(5 * time.Second) // nobody is there
	again := openServer(t, redis, clock, "again")
	opened := Mark{At: time.Unix(start, 0).UTC(), What: Opened}
	again.Note(saleID, []Mark{opened})
	again.does(44, nil)
	second(again)
	p := again.past()
	orders := "[0" + strings.Repeat(",2", 19) + ",null,null,null,null,null,6]"
	if len(p.Parts) != 1 || string(p.Parts[0].Orders) != orders || p.Refused["CART_EMPTY"] != 20 ||
		len(p.Minute) != 20 || !slices.Equal(p.Marks, []Mark{opened}) {
		t.Errorf("history %s", again.reader.history)
	}
	again.Note(saleID, []Mark{opened, {At: time.Unix(start+26, 0).UTC(), What: Restocked, Food: 3, Add: 100}})
	second(again)
	want := `"marks":[{"at":"2027-01-15T08:00:26Z","what":"restocked","food_id":3,"add":100}]}`
	if got := again.pace(); !strings.HasSuffix(got, want) {
		t.Errorf("pace %s", got)
	}
	second(again)
	if got := again.pace(); strings.Contains(got, "marks") {
		t.Errorf("the mark comes again: %s", got)
	}
}

// A long sale has all of its orders in the curve, in coarser steps the longer ago they were, within the
// bounds of the board and of Redis.
func TestCurveIsBounded(t *testing.T) {
	redis, clock := roomtest.Redis(t), newClock()
	a := openServer(t, redis, clock, "a")
	refused := make([]string, 40)
	for i := range refused {
		refused[i] = fmt.Sprintf("A_RATHER_LONG_CODE_%d", i)
	}
	const sold, seconds = 123, 2000
	for i := range int64(seconds) {
		a.does(i*sold, []time.Duration{3 * ms}, refused[i%40])
		second(a)
	}
	p := a.past()
	sum, last := p.Before, p.Parts[0].From
	for i, one := range p.Parts {
		var orders []int64
		testkit.Must(t, json.Unmarshal(one.Orders, &orders))
		for _, n := range orders {
			sum += n
		}
		if one.From != last {
			t.Errorf("part %d begins at %d, the one before ends at %d", i, one.From, last)
		}
		last = one.From + one.Step*int64(len(orders))
	}
	if want := int64((seconds - 1) * sold); sum != want || last != start+seconds || len(p.Parts) != 2 ||
		p.Parts[0].Step != 10 || p.Peak != sold {
		t.Errorf("%d orders to %d in %d parts, want %d; peak %d", sum, last, len(p.Parts), want, p.Peak)
	}
	if n := len(a.reader.history); n > 32<<10 {
		t.Errorf("the history has %d bytes", n)
	}
	keys := keysOf(saleID)
	fields := roomtest.Ask[int](t, a.redis, "HLEN", keys[0])
	if want := 600 + seconds/10 + seconds/120 + 3; fields > want+2 {
		t.Errorf("%d buckets, want %d", fields, want)
	}
	for _, key := range keys {
		if left := roomtest.Ask[int](t, a.redis, "TTL", key); left <= 0 || left > int(keptFor/time.Second) {
			t.Errorf("%s expires in %d s", key, left)
		}
		if pipeline.Slot(key) != pipeline.Slot(keys[0]) {
			t.Errorf("%s is in another slot", key)
		}
	}
}

// Of more servers than the set holds, the one that was seen first leaves it.
func TestServersMax(t *testing.T) {
	redis, clock := roomtest.Redis(t), newClock()
	a := openServer(t, redis, clock, "a")
	second(a)
	for i := range serversMax {
		a.Keeper.cfg.Server = fmt.Sprint("other", i)
		own := a.count()
		if !a.write(&own) {
			t.Fatal("Redis does not answer")
		}
	}
	keys := keysOf(saleID)
	counted := roomtest.Ask[int](t, a.redis, "HLEN", keys[1])
	seen := roomtest.Ask[int](t, a.redis, "ZCARD", keys[2])
	if counted != serversMax || seen != serversMax {
		t.Errorf("%d and %d servers", counted, seen)
	}
}

// While Redis is away a server shows its own figures, and says so. When it is back all is together again.
func TestRedisAway(t *testing.T) {
	server, clock := redistest.New(t), newClock()
	cfg := roomtest.Of(server)
	cfg.Timeout = 200 * ms
	a := openServer(t, cfg, clock, "a")
	a.does(5, nil, "CART_EMPTY")
	second(a)
	a.pace()
	server.Freeze(t)
	a.does(5, nil, "SERVICE_UNAVAILABLE")
	own := a.count()
	if a.write(&own) {
		t.Fatal("a frozen Redis answers")
	}
	a.since = a.since.Add(-time.Second) // a second is over
	a.showAlone(&own)
	if got := a.pace(); !strings.Contains(got, `"refused":{"SERVICE_UNAVAILABLE":1}`) ||
		!strings.HasSuffix(got, `"servers":1,"servers_of":null}`) {
		t.Errorf("alone %s", got)
	}
	if p := a.past(); len(p.Parts) == 0 {
		t.Error("the curve of before is gone")
	}
	server.Thaw(t)
	testkit.Until(t, "Redis is back", func() bool {
		own := a.count()
		return a.write(&own)
	})
	clock.Add(time.Minute)
	second(a)
	a.reader.read()
	second(a)
	if got := a.pace(); !strings.HasSuffix(got, `"servers":1,"servers_of":1}`) {
		t.Errorf("together again %s", got)
	}
	if p := a.past(); p.Refused["SERVICE_UNAVAILABLE"] != 1 || p.Refused["CART_EMPTY"] != 1 {
		t.Errorf("refused %v", p.Refused)
	}
}

// The next sale begins anew: nothing of the sale before is in it, and its keys are gone.
func TestNextSaleBeginsAnew(t *testing.T) {
	redis, clock := roomtest.Redis(t), newClock()
	a := openServer(t, redis, clock, "a")
	a.Note(saleID, []Mark{{At: time.Unix(start, 0).UTC(), What: Opened}})
	a.does(7, []time.Duration{ms}, "CART_EMPTY")
	second(a)
	a.Follow("next")
	a.Note("next", nil)
	a.follow()
	second(a) // its workers serve the sale before
	a.reader.sale = "next"
	p := a.past()
	if len(p.Parts) != 1 || string(p.Parts[0].Orders) != "[0]" || len(p.Refused) > 0 || len(p.Marks) > 0 ||
		p.Before != 0 {
		t.Errorf("history %s", a.reader.history)
	}
	a.worker.Sale.Set(figures.SaleNumber("next"))
	a.does(1, nil, "CART_EMPTY")
	second(a)
	if got := a.pace(); !strings.Contains(got, `"refused":{"CART_EMPTY":1}`) {
		t.Errorf("pace %s", got)
	}
	if n := roomtest.Ask[int](t, a.redis, append([]string{"EXISTS"}, keysOf(saleID)...)...); n != 0 {
		t.Errorf("%d keys of the sale before are there", n)
	}
}

// A sale in which nothing happens any more keeps its curve: the days that follow do not take its place.
func TestQuietSale(t *testing.T) {
	redis, clock := roomtest.Redis(t), newClock()
	a := openServer(t, redis, clock, "a")
	a.does(7, nil)
	second(a)
	a.Note(saleID, []Mark{{At: clock.Now(), What: SoldOut}})
	for range 90 {
		second(a)
	}
	before := a.past()
	if got := a.posted2(); !strings.Contains(got, `"still":true`) {
		t.Errorf("pace %s", got)
	}
	clock.Add(time.Hour)
	second(a)
	second(a)
	if after := a.past(); fmt.Sprint(after.Parts) != fmt.Sprint(before.Parts) {
		t.Errorf("the curve has changed")
	}
	a.Note(saleID, []Mark{{At: clock.Now(), What: Restocked, Food: 1, Add: 5}})
	second(a)
	if got := a.posted2(); strings.Contains(got, "still") {
		t.Errorf("pace %s", got)
	}
}

// posted2 is the last pace that was put up, read or not.
func (s *server) posted2() string { return string(s.posted[len(s.posted)-1].pace) }
