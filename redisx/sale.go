// Package redisx keeps the facts of a sale in Redis, and only there: stock, carts and orders. Every decision
// that must be atomic is one Lua file beside the Go file that calls it. The package knows neither HTTP nor
// prices nor names. A call costs one round trip, shared with all calls that wait at the same moment; it fails
// with ErrUnavailable, within Config.Timeout, when Redis does not answer.
package redisx

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"
)

// Outcomes of a call.
var (
	ErrUnavailable = errors.New("redis does not answer") // what was sent may have been carried out
	ErrSaleGone    = errors.New("redis does not hold this sale")
	ErrOverLimit   = errors.New("the cart would hold more than CartMax pieces")
	ErrHasOrder    = errors.New("the user has an order")
	ErrCartEmpty   = errors.New("the cart is empty")
	ErrOutOfStock  = errors.New("not enough stock")
)

// Config says which Redis to use and how.
type Config struct {
	Network  string        // "tcp" or "unix"
	Address  string        // host:port or path of the socket
	Username string        // "" for none
	Password string        // "" for none
	Timeout  time.Duration // in which every call is answered, one way or the other
	CartTTL  time.Duration // lifetime of a cart from its first piece on, whole seconds
	Quiet    bool          // another process of this server says when the sale goes and when it is back

	foods int // of the sale, set by Join: it bounds the reply with the stock
}

// Sale is the open sale. Its methods are safe for concurrent use.
type Sale struct {
	id       string
	stockKey string
	foods    int
	cfg      Config
	conn     *conn
	gone     atomic.Bool // Redis was seen without this sale

	orders, carts *evaluation // the two scripts

	cartMax     int    // CartMax, but for tests
	lifetime    []byte // of a cart, seconds
	changeBytes int    // of a change that adds one piece
	plainBytes  int    // a list of changes that is no longer cannot ask for more than cartMax pieces

	changing changing // carts to which an APPEND is under way
	begun    *begunCarts
}

// Join makes the Sale that Open opened, as any number of processes do; it has the foods 1 to foods and the users 1 to
// users. Run must run for its calls to be answered.
func Join(cfg Config, id string, foods, users int) *Sale { return join(cfg, id, foods, users, CartMax) }

func join(cfg Config, id string, foods, users, cartMax int) *Sale {
	cfg.foods = foods
	s := &Sale{id: id, stockKey: stockPrefix + id, foods: foods, cfg: cfg, cartMax: cartMax}
	s.begun = newBegunCarts(users)
	s.changeBytes = len(strconv.Itoa(foods)) + len(":1,")
	s.plainBytes = cartMax * s.changeBytes
	s.lifetime = strconv.AppendInt(nil, int64(cfg.CartTTL/time.Second), 10)
	args := appendBulk(nil, strconv.Itoa(cartMax))
	args = appendBulk(appendBulk(args, s.lifetime), strconv.Itoa(s.plainBytes))
	keys := appendBulk(appendBulk(nil, s.stockKey), streamPrefix+id)
	s.orders = &evaluation{script: orderScript, keys: keys, keyCount: 2, args: args, argCount: 3, callKeys: 2, callArgs: 1}
	s.carts = &evaluation{script: cartScript, args: args, argCount: 3, callKeys: 2, callArgs: 2}
	s.conn = newConn(cfg, []*evaluation{s.carts, s.orders}, s.greet)
	return s
}

// ID is the random id of the sale: 8 characters from a-z and 2-7.
func (s *Sale) ID() string { return s.id }

// Run keeps the connection until ctx ends. All calls must have returned before.
func (s *Sale) Run(ctx context.Context) { s.conn.run(ctx) }

// Check asks Redis whether it still holds this sale: nil, ErrUnavailable or ErrSaleGone.
func (s *Sale) Check() error {
	var found presence
	if err := s.do(s.prove(newCall(), &found)); err != nil {
		return err
	}
	return s.observe(found)
}

// greet prepares a new connection: it loads the scripts and refuses a Redis that does not hold the sale.
func (s *Sale) greet(l *link, limit time.Duration) error {
	var found presence
	var sha string
	x := s.prove(newCall(), &found).
		command(&sha, "SCRIPT", "LOAD", orderScript.source).
		command(&sha, "SCRIPT", "LOAD", cartScript.source)
	if err := l.ask(x, limit); err != nil {
		return err
	}
	return s.observe(found)
}

// presence is what Redis holds of the sale: it is there when its marker and its stock are.
type presence struct {
	id    string // in the marker, "" for none
	stock int    // 1 when the stock of this sale is there
}

// prove adds the commands that fill found to a call: every reading call proves the sale in its own pipeline.
func (s *Sale) prove(x *call, found *presence) *call {
	return x.command(&found.id, "HGET", saleKey, "id").command(&found.stock, "EXISTS", s.stockKey)
}

// observe compares what Redis holds with this sale; one line when it goes and one when it is back.
func (s *Sale) observe(found presence) error {
	if found.id == s.id && found.stock == 1 {
		if s.gone.CompareAndSwap(true, false) && !s.cfg.Quiet {
			slog.Info("the sale is back in Redis", "sale", s.id, "redis", s.cfg.Address)
		}
		return nil
	}
	if s.gone.CompareAndSwap(false, true) && !s.cfg.Quiet {
		other := "no sale"
		switch found.id {
		case "":
		case s.id:
			other = "its marker without stock"
		default:
			other = "sale " + found.id
		}
		slog.Error("Redis has lost the sale: every order gets 503 until its data is restored",
			"sale", s.id, "found", other, "redis", s.cfg.Address)
	}
	return ErrSaleGone
}

// do carries out a call and frees it.
func (s *Sale) do(x *call) error {
	defer x.free()
	return s.conn.do(x)
}

// doDetached sends a call for which nothing waits. Where it cannot be sent it is dropped.
func (s *Sale) doDetached(x *call) {
	x.detached = true
	if !s.conn.send(x) {
		x.free()
	}
}

// doCode carries out a call that returns a code.
func (s *Sale) doCode(x *call) (int64, error) {
	defer x.free()
	if s.gone.Load() {
		return 0, ErrSaleGone
	}
	err := s.conn.do(x)
	return x.code, err
}
