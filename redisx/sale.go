// Package redisx keeps the facts of a sale in Redis, and only there: stock, carts and orders. Every decision
// that must be atomic is one Lua file beside the Go file that calls it. The package knows no HTTP, prices or
// names. A call costs one round trip, shared with all calls that wait at the same moment; it fails with
// ErrUnavailable, within Config.Timeout, if Redis does not answer.
//
// Two packages stand above this one: turnover opens the next sale, orderstream carries the orders to the
// ledger.
package redisx

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/observe/figures"
	"flashsale/redisx/pipeline"
)

// Outcomes of a call.
var (
	ErrUnavailable = pipeline.ErrUnavailable // the change may have been carried out
	ErrSaleGone    = errors.New("redis does not hold this sale")
	ErrOverLimit   = errors.New("the cart would hold more than CartMax pieces")
	ErrHasOrder    = errors.New("the user has an order")
	ErrCartEmpty   = errors.New("the cart is empty")
	ErrOutOfStock  = errors.New("not enough stock")
	ErrNotOpen     = errors.New("the sale is not open yet")
	ErrPaused      = errors.New("the sale is paused")
	ErrClosed      = errors.New("the sale is closed")
	ErrReleased    = errors.New("too many orders of the user were released")
)

// Config has the Redis to use and the settings of a sale.
type Config struct {
	pipeline.Config               // Address may name several Redis, with commas between
	Slices          int           // of the sale; 0 counts as 1
	Registered      int           // users with ids from FirstRegistered on who may buy
	CartTTL         time.Duration // lifetime of a cart from its first piece on, whole seconds
	Hold            time.Duration // how long an order is held until it is paid; 0: orders are final at once
	Rules           bool          // orders are placed under terms, see PlaceOrderUnder
	Quiet           bool          // another process logs when the sale is lost and when it is back
	Effect          string        // effect of an outage of Redis, for the log; "" for "orders get 503"

	// Loop, unless nil, carries the changes (AddToCart, PlaceOrder), over a connection of its own. Then only
	// its thread may call them, and Join must be called before the loop runs, or on its thread.
	Loop pipeline.Loop `json:"-"`

	Figures *figures.Worker `json:"-"` // where calls are counted; nil: the counts are not published
}

// Outcome is told how a change has ended.
type Outcome interface {
	// Done gets nil or one of the errors named at the change. It runs on the thread or goroutine that owns the
	// connection to Redis, or within the call, and must not wait.
	Done(err error)
}

// Sale is the open sale. Its methods are safe for concurrent use.
type Sale struct {
	id     string
	foods  int
	cfg    Config
	slices []slice
	conns  []conn // slice i uses conns[i%len(conns)]

	list     changeList
	lifetime []byte   // of a cart, seconds
	changing changing // carts with an APPEND under way
	begun    *begunCarts
	joined   time.Time
	mover    *mover // nil with one slice
	reach    *reach
	clocks   *clocks
}

// conn is the connection to a Redis with some slices.
type conn struct {
	redis   *pipeline.Conn
	changes *pipeline.Conn // for AddToCart and PlaceOrder; redis itself without a Loop
}

// slice is a part of the sale: some users with their carts and orders, and a stock of its own.
type slice struct {
	conn
	sale  *Sale
	index int
	keys  Keys
	gone  atomic.Bool // its Redis did not hold this sale
	told  atomic.Bool // the loss was logged
	last  atomic.Pointer[reading]

	orders, checks *pipeline.Shared // order.lua and cart_check.lua
}

// Join makes the Sale that Open opened, with the foods 1 to foods and the users 1 to users. Any number of
// processes may join. Its calls are answered only while Run runs. Without users it has all methods but
// AddToCart and PlaceOrder.
func Join(cfg Config, id string, foods, users int) *Sale { return join(cfg, id, foods, users, CartMax) }

func join(cfg Config, id string, foods, users, cartMax int) *Sale {
	if cfg.Figures == nil {
		cfg.Figures = figures.Private()
	}
	cfg.Slices = cfg.SliceCount()
	s := &Sale{id: id, foods: foods, cfg: cfg, joined: time.Now(),
		slices: make([]slice, cfg.Slices), conns: make([]conn, cfg.conns())}
	s.reach = &reach{&s.cfg, id, func(slice int, x *pipeline.Call) error { return s.slices[slice].redis.Do(x) }}
	s.clocks = newClocks(&s.cfg)
	s.list = newChangeList(foods, cartMax)
	s.begun = newBegunCarts(Users{users, cfg.Registered})
	s.lifetime = strconv.AppendInt(nil, int64(cfg.CartTTL/time.Second), 10)
	for i := range s.slices {
		x := &s.slices[i]
		x.sale, x.index, x.keys = s, i, cfg.KeysOf(id, i)
		x.share(strconv.Itoa(cartMax), string(s.lifetime), strconv.Itoa(s.list.plainBytes))
	}
	for i := range s.conns {
		s.conns[i] = s.connect(i, users > 0)
	}
	for i := range s.slices {
		s.slices[i].conn = s.conns[i%len(s.conns)]
	}
	if cfg.Slices > 1 && users > 0 {
		s.mover = newMover(s)
	}
	return s
}

// share makes the scripts that calls of this slice share. rules are the arguments of the rules of a cart.
func (x *slice) share(rules ...string) {
	k := x.keys
	keys := []string{k.Stock, k.Stream, k.Gate, k.Marker, k.Log, k.Events}
	args, order, ruled := rules, orderScript, ruledScript
	if hold := x.sale.cfg.Hold; hold > 0 {
		keys = append(keys[:5], k.Holds, k.Released, k.Events)
		args = append(slices.Clone(rules), strconv.FormatInt(hold.Milliseconds(), 10))
		order, ruled = heldOrderScript, heldRuledScript
	}
	if x.sale.cfg.Rules {
		keys, order = append(keys, k.Used), ruled
	}
	x.orders = order.Share(keys, args, 2, 1)
	x.checks = cartCheckScript.Share(nil, rules, 2, 2)
}

// connect makes the connection that reaches slice i and others; changes: also for changes.
func (s *Sale) connect(i int, changes bool) (c conn) {
	redis := s.cfg.Slice(i)
	opts := pipeline.Options{FieldsMax: s.stockFields(), Fence: s.slices[i].keys.Fence,
		Scripts: []*pipeline.Script{stateChangeScript, restockScript, soldOutScript, wantedScript,
			lackingScript},
		Outage: &pipeline.Outage{Effect: cmp.Or(s.cfg.Effect, "orders get 503"), Reason: outageReason}}
	if !changes {
		c.redis = pipeline.New(redis, opts)
		c.changes = c.redis
		return c
	}
	opts.Greet, opts.Figures = s.slices[i].greet, &s.cfg.Figures.Redis
	if s.cfg.Loop != nil {
		c.redis = pipeline.New(redis, opts)
		opts.Loop, opts.Scripts = s.cfg.Loop, nil
	}
	for ; i < len(s.slices); i += len(s.conns) {
		opts.Shared = append(opts.Shared, s.slices[i].checks, s.slices[i].orders)
	}
	opts.Waiting = &s.cfg.Figures.QueueCalls
	s.cfg.Figures.QueueCallsMax.Set(pipeline.QueueMax)
	c.changes = pipeline.New(redis, opts)
	if s.cfg.Loop == nil {
		c.redis = c.changes
	}
	return c
}

// stockFields is the most fields of a stock.
func (s *Sale) stockFields() int {
	const others = 3 // orders, sold_out, note
	return 4*s.foods + others + transferFields*len(s.slices)
}

// of returns the slice of a user.
func (s *Sale) of(user uint32) *slice {
	if len(s.slices) == 1 {
		return &s.slices[0]
	}
	return &s.slices[sliceOf(user, len(s.slices))]
}

// home is the slice that describes the whole sale.
func (s *Sale) home() *slice { return &s.slices[0] }

// ID is the random id of the sale: 8 characters from a-z and 2-7.
func (s *Sale) ID() string { return s.id }

// Hold is how long an order is held until it is paid; 0: orders are final at once.
func (s *Sale) Hold() time.Duration { return s.cfg.Hold }

// Run keeps the connections until ctx ends, and returns nil then. All calls must have returned before.
func (s *Sale) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, c := range s.conns {
		running.Go(func() { _ = c.redis.Run(ctx) }) // nil
		if c.changes != c.redis {
			running.Go(func() { _ = c.changes.Run(ctx) }) // nil
		}
	}
	if s.mover != nil {
		running.Go(func() { s.mover.run(ctx) })
	}
	running.Wait()
	return nil
}

// Check asks Redis whether it still holds this sale: nil, ErrUnavailable or ErrSaleGone.
func (s *Sale) Check() error {
	for i := range s.slices {
		var found presence
		x := &s.slices[i]
		if err := x.read(x.prove(pipeline.NewCall(), &found), &found); err != nil {
			return err
		}
	}
	return nil
}

// greet refuses a new connection to a Redis without the sale.
func (x *slice) greet(l *pipeline.Link, limit time.Duration) error {
	var found presence
	if err := l.Do(x.prove(pipeline.NewCall(), &found), limit); err != nil {
		return err
	}
	return x.observe(found)
}

// outageReason names the error of greet for the log.
func outageReason(err error) string {
	if errors.Is(err, ErrSaleGone) {
		return "Redis does not hold the sale"
	}
	return ""
}

// presence is what Redis holds of a slice: the slice is there if its marker and its stock are.
type presence struct {
	id       string // in the marker, "" for none
	next     string // the sale that a turnover is opening in its place, "" for none
	previous string // the sales before it, with spaces between
	stock    int    // 1 when the stock of this sale is there
}

// prove adds the commands that fill found to a call: every reading call also checks for the sale.
func (x *slice) prove(c *pipeline.Call, found *presence) *pipeline.Call {
	return c.Command(&radix.Tuple{&found.id, &found.next, &found.previous}, "HMGET", x.keys.Marker,
		"id", "next_id", "previous").Command(&found.stock, "EXISTS", x.keys.Stock)
}

// observe compares the content of Redis with this slice. It logs one line when the slice is lost and one
// when it is back.
func (x *slice) observe(found presence) error {
	s := x.sale
	if found.id == s.id && found.stock == 1 {
		x.gone.Store(false)
		if x.told.CompareAndSwap(true, false) && !s.cfg.Quiet {
			slog.Info("the sale is back in Redis", x.names()...)
		}
		return nil
	}
	if x.told.CompareAndSwap(false, true) && !s.cfg.Quiet {
		x.tell(found)
	}
	return x.missed()
}

// missed notes that a script has not found the sale. The next reading call logs the reason.
func (x *slice) missed() error {
	x.gone.Store(true)
	return ErrSaleGone
}

// tell logs what Redis holds instead of the slice.
func (x *slice) tell(found presence) {
	next, other := found.next, "no sale"
	if slices.Contains(strings.Fields(found.previous), x.sale.id) {
		next = found.id
	}
	switch {
	case next != "":
		slog.Info("the sale has ended: every order gets 503 until this server serves the next one",
			x.names("next", next)...)
		return
	case found.id == x.sale.id:
		other = "its marker without stock"
	case found.id != "":
		other = "sale " + found.id
	}
	text := "Redis has lost the sale: every order gets 503 until its data is restored"
	if len(x.sale.slices) > 1 {
		text = "Redis has lost a slice of the sale: its users get 503 until its data is restored"
	}
	slog.Error(text, x.names("found", other)...)
}

// names are the attributes of the slice for the log, with others between them.
func (x *slice) names(others ...any) []any {
	list := append([]any{"sale", x.sale.id}, others...)
	if len(x.sale.slices) > 1 {
		list = append(list, "slice", x.keys.Tag)
	}
	return append(list, "redis", x.sale.cfg.Address)
}

// read carries out a call with the commands of prove, and checks for the slice.
func (x *slice) read(c *pipeline.Call, found *presence) error {
	if err := x.redis.Do(c); err != nil {
		return err
	}
	return x.observe(*found)
}

// change sends a call that changes something. After an error the completion does not run.
func (x *slice) change(c *pipeline.Call, completion pipeline.Completion) error {
	err := ErrUnavailable
	switch {
	case x.gone.Load():
		err = ErrSaleGone
	case x.changes.Send(c, completion):
		return nil
	}
	c.Free()
	return err
}
