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
)

// Config has the Redis to use and the settings of a sale.
type Config struct {
	pipeline.Config
	CartTTL time.Duration // lifetime of a cart from its first piece on, whole seconds
	Quiet   bool          // another process logs when the sale is lost and when it is back
	Effect  string        // effect of an outage of Redis, for the log; "" for "orders get 503"

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
	id      string
	keys    Keys
	foods   int
	cfg     Config
	redis   *pipeline.Conn
	changes *pipeline.Conn // for AddToCart and PlaceOrder; redis itself without a Loop
	gone    atomic.Bool    // Redis did not hold this sale
	told    atomic.Bool    // the loss was logged

	orders, checks *pipeline.Shared // order.lua and cart_check.lua

	list     changeList
	lifetime []byte   // of a cart, seconds
	changing changing // carts with an APPEND under way
	begun    *begunCarts
}

// Join makes the Sale that Open opened, with the foods 1 to foods and the users 1 to users. Any number of
// processes may join. Its calls are answered only while Run runs. Without users it has all methods but
// AddToCart and PlaceOrder.
func Join(cfg Config, id string, foods, users int) *Sale { return join(cfg, id, foods, users, CartMax) }

func join(cfg Config, id string, foods, users, cartMax int) *Sale {
	if cfg.Figures == nil {
		cfg.Figures = figures.Private()
	}
	s := &Sale{id: id, keys: KeysOf(id), foods: foods, cfg: cfg}
	opts := pipeline.Options{FieldsMax: stockFields(foods),
		Scripts: []*pipeline.Script{stateChangeScript, restockScript},
		Outage:  &pipeline.Outage{Effect: cmp.Or(cfg.Effect, "orders get 503"), Reason: outageReason}}
	if users == 0 {
		s.redis = pipeline.New(cfg.Config, opts)
		s.changes = s.redis
		return s
	}
	opts.Greet, opts.Figures = s.greet, &cfg.Figures.Redis
	if cfg.Loop != nil {
		s.redis = pipeline.New(cfg.Config, opts)
		opts.Loop, opts.Scripts = cfg.Loop, nil
	}
	s.list = newChangeList(foods, cartMax)
	s.begun = newBegunCarts(users)
	lifetime := strconv.Itoa(int(cfg.CartTTL / time.Second))
	s.lifetime = []byte(lifetime)
	rules := []string{strconv.Itoa(cartMax), lifetime, strconv.Itoa(s.list.plainBytes)}
	k := s.keys
	s.orders = orderScript.Share([]string{k.Stock, k.Stream, k.Gate, k.Marker, k.Log}, rules, 2, 1)
	s.checks = cartCheckScript.Share(nil, rules, 2, 2)
	opts.Shared = []*pipeline.Shared{s.checks, s.orders}
	opts.Waiting = &cfg.Figures.QueueCalls
	cfg.Figures.QueueCallsMax.Set(pipeline.QueueMax)
	s.changes = pipeline.New(cfg.Config, opts)
	if cfg.Loop == nil {
		s.redis = s.changes
	}
	return s
}

// stockFields is the most fields of a stock of that many foods.
func stockFields(foods int) int {
	const others = 2 // orders, note
	return 2*foods + others
}

// ID is the random id of the sale: 8 characters from a-z and 2-7.
func (s *Sale) ID() string { return s.id }

// Run keeps the connections until ctx ends, and returns nil then. All calls must have returned before.
func (s *Sale) Run(ctx context.Context) error {
	if s.redis == s.changes {
		return s.redis.Run(ctx)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { _ = s.redis.Run(ctx) }) // nil
	return s.changes.Run(ctx)
}

// Check asks Redis whether it still holds this sale: nil, ErrUnavailable or ErrSaleGone.
func (s *Sale) Check() error {
	var found presence
	return s.read(s.prove(pipeline.NewCall(), &found), &found)
}

// greet refuses a new connection to a Redis without the sale.
func (s *Sale) greet(l *pipeline.Link, limit time.Duration) error {
	var found presence
	if err := l.Do(s.prove(pipeline.NewCall(), &found), limit); err != nil {
		return err
	}
	return s.observe(found)
}

// outageReason names the error of greet for the log.
func outageReason(err error) string {
	if errors.Is(err, ErrSaleGone) {
		return "Redis does not hold the sale"
	}
	return ""
}

// presence is what Redis holds of the sale: the sale is there if its marker and its stock are.
type presence struct {
	id       string // in the marker, "" for none
	next     string // the sale that a turnover is opening in its place, "" for none
	previous string // the sales before it, with spaces between
	stock    int    // 1 when the stock of this sale is there
}

// prove adds the commands that fill found to a call: every reading call also checks for the sale.
func (s *Sale) prove(x *pipeline.Call, found *presence) *pipeline.Call {
	return x.Command(&radix.Tuple{&found.id, &found.next, &found.previous}, "HMGET", s.keys.Marker,
		"id", "next_id", "previous").Command(&found.stock, "EXISTS", s.keys.Stock)
}

// observe compares the content of Redis with this sale. It logs one line when the sale is lost and one when
// it is back.
func (s *Sale) observe(found presence) error {
	if found.id == s.id && found.stock == 1 {
		s.gone.Store(false)
		if s.told.CompareAndSwap(true, false) && !s.cfg.Quiet {
			slog.Info("the sale is back in Redis", "sale", s.id, "redis", s.cfg.Address)
		}
		return nil
	}
	if s.told.CompareAndSwap(false, true) && !s.cfg.Quiet {
		s.tell(found)
	}
	return s.missed()
}

// missed notes that a script has not found the sale. The next reading call logs the reason.
func (s *Sale) missed() error {
	s.gone.Store(true)
	return ErrSaleGone
}

// tell logs what Redis holds instead of the sale.
func (s *Sale) tell(found presence) {
	next, other := found.next, "no sale"
	if slices.Contains(strings.Fields(found.previous), s.id) {
		next = found.id
	}
	switch {
	case next != "":
		slog.Info("the sale has ended: every order gets 503 until this server serves the next one",
			"sale", s.id, "next", next, "redis", s.cfg.Address)
		return
	case found.id == s.id:
		other = "its marker without stock"
	case found.id != "":
		other = "sale " + found.id
	}
	slog.Error("Redis has lost the sale: every order gets 503 until its data is restored",
		"sale", s.id, "found", other, "redis", s.cfg.Address)
}

// read carries out a call with the commands of prove, and checks for the sale.
func (s *Sale) read(x *pipeline.Call, found *presence) error {
	if err := s.redis.Do(x); err != nil {
		return err
	}
	return s.observe(*found)
}

// change sends a call that changes something. After an error the completion does not run.
func (s *Sale) change(x *pipeline.Call, completion pipeline.Completion) error {
	err := ErrUnavailable
	switch {
	case s.gone.Load():
		err = ErrSaleGone
	case s.changes.Send(x, completion):
		return nil
	}
	x.Free()
	return err
}
