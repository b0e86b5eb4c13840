// Package redisx keeps the facts of a sale in Redis, and only there: stock, carts and orders. Every
// decision that must be atomic is one Lua file beside the Go file that calls it. The package knows
// neither HTTP nor prices nor names. A call costs one round trip, shared with all calls that wait at the
// same moment; it fails with ErrUnavailable, within Config.Timeout, when Redis does not answer.
package redisx

import (
	"context"
	_ "embed" // the rules of a cart
	"errors"
	"fmt"
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
	ErrUnavailable = pipeline.ErrUnavailable // what was sent may have been carried out
	ErrSaleGone    = errors.New("redis does not hold this sale")
	ErrOverLimit   = errors.New("the cart would hold more than CartMax pieces")
	ErrHasOrder    = errors.New("the user has an order")
	ErrCartEmpty   = errors.New("the cart is empty")
	ErrOutOfStock  = errors.New("not enough stock")
	ErrNotOpen     = errors.New("the sale is not open yet")
	ErrPaused      = errors.New("the sale is paused")
	ErrClosed      = errors.New("the sale is closed")
)

// Config says which Redis to use and how.
type Config struct {
	pipeline.Config
	CartTTL time.Duration // lifetime of a cart from its first piece on, whole seconds
	Quiet   bool          // another process of this server logs when the sale goes and when it is back

	// Loop, unless nil, makes the changes (AddToCart, PlaceOrder), over a connection of its own. Then only
	// its thread may call them, and Join comes before it runs, or is called on its thread.
	Loop pipeline.Loop `json:"-"`

	Figures *figures.Worker `json:"-"` // where calls are counted; nil counts where nobody reads
}

// Outcome learns how a change has ended.
type Outcome interface {
	// Done gets nil or one of the errors named at the change. It runs on the thread or goroutine that owns
	// the connection to Redis, or within the call itself, and must not wait.
	Done(err error)
}

// changesSource is the rules of a cart, for the scripts that apply them.
//
//go:embed changes.lua
var changesSource string

// Sale is the open sale. Its methods are safe for concurrent use.
type Sale struct {
	id       string
	stockKey string
	foods    int
	cfg      Config
	redis    *pipeline.Conn
	changes  *pipeline.Conn // for AddToCart and PlaceOrder; the same as redis, but with a Loop
	gone     atomic.Bool    // Redis was seen without this sale
	told     atomic.Bool    // and that was logged

	orders, checks *pipeline.Shared // order.lua and cart_check.lua

	list     changeList
	lifetime []byte   // of a cart, seconds
	changing changing // carts to which an APPEND is under way
	begun    *begunCarts
}

// Join makes the Sale that Open opened; any number of processes may join it. It has the foods 1 to foods
// and the users 1 to users. Run must run for its calls to be answered.
func Join(cfg Config, id string, foods, users int) *Sale { return join(cfg, id, foods, users, CartMax) }

func join(cfg Config, id string, foods, users, cartMax int) *Sale {
	s := newSale(cfg, id, foods)
	s.list = newChangeList(foods, cartMax)
	s.begun = newBegunCarts(users)
	lifetime := strconv.Itoa(int(cfg.CartTTL / time.Second))
	s.lifetime = []byte(lifetime)
	rules := []string{strconv.Itoa(cartMax), lifetime, strconv.Itoa(s.list.plainBytes)}
	keys := []string{s.stockKey, streamPrefix + id, gatePrefix + id, saleKey, logPrefix + id}
	s.orders = orderScript.Share(keys, rules, 2, 1)
	s.checks = cartCheckScript.Share(nil, rules, 2, 2)
	s.cfg.Figures.QueueCallsMax.Set(pipeline.QueueMax)
	opts := pipeline.Options{Greet: s.greet, FieldsMax: stockFields(foods), Scripts: readingScripts,
		Figures: &s.cfg.Figures.Redis, Outage: &pipeline.Outage{Effect: "orders get 503", Reason: outageReason}}
	if cfg.Loop != nil {
		s.redis = pipeline.New(cfg.Config, opts)
		opts.Loop, opts.Scripts = cfg.Loop, nil
	}
	opts.Shared = []*pipeline.Shared{s.checks, s.orders}
	opts.Waiting = &s.cfg.Figures.QueueCalls
	s.changes = pipeline.New(cfg.Config, opts)
	if cfg.Loop == nil {
		s.redis = s.changes
	}
	return s
}

// newSale makes a Sale without connections.
func newSale(cfg Config, id string, foods int) *Sale {
	if cfg.Figures == nil {
		cfg.Figures = figures.Private()
	}
	return &Sale{id: id, stockKey: stockPrefix + id, foods: foods, cfg: cfg}
}

// readingScripts run on the connection that is not for changes of carts and orders.
var readingScripts = []*pipeline.Script{turnScript, restockScript}

// stockFields is the most fields that the stock of so many foods has.
func stockFields(foods int) int {
	const others = 2 // orders, note
	return 2*foods + others
}

// Watch makes a Sale for what stands beside the order path: it has all methods but AddToCart and
// PlaceOrder, and knows no users.
func Watch(cfg Config, id string, foods int) *Sale {
	s := newSale(cfg, id, foods)
	s.redis = pipeline.New(cfg.Config, pipeline.Options{FieldsMax: stockFields(foods), Scripts: readingScripts,
		Outage: &pipeline.Outage{Effect: "the metrics of the sale are missing"}})
	s.changes = s.redis
	return s
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

// greet refuses a new connection to a Redis that does not hold the sale.
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

// presence is what Redis holds of the sale: it is there when its marker and its stock are.
type presence struct {
	id       string // in the marker, "" for none
	next     string // the sale that is being opened in its place, "" for none
	previous string // the sales before it, with spaces between
	stock    int    // 1 when the stock of this sale is there
}

// prove adds the commands that fill found to a call: every reading call proves the sale in its own pipeline.
func (s *Sale) prove(x *pipeline.Call, found *presence) *pipeline.Call {
	return x.Command(&radix.Tuple{&found.id, &found.next, &found.previous}, "HMGET", saleKey, "id", "next_id",
		"previous").Command(&found.stock, "EXISTS", s.stockKey)
}

// observe compares what Redis holds with this sale. It logs one line when the sale goes and one when it
// is back.
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

// missed takes note that a script has not found the sale. The next look at Redis logs why.
func (s *Sale) missed() error {
	s.gone.Store(true)
	return ErrSaleGone
}

// tell logs what Redis holds in the place of the sale.
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

// read carries out a call that began with prove, and judges what that has found.
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

// unknownCode is the error for a code that the script's contract does not name.
func unknownCode(name string, code int64) error {
	return fmt.Errorf("%s returned the unknown code %d", name, code)
}
