package redisx

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// openTimeout is the least time given to the script that opens a sale: it writes the stock of every food.
const openTimeout = 10 * time.Second

// What stock.lua returns.
const (
	stockIsOpen   = 0
	stockOpened   = 1
	stockNone     = 2
	stockOther    = 3
	stockStranger = 4
)

// Why a sale is neither opened nor joined; ErrLeftover is another reason.
var (
	ErrOtherFoods   = errors.New("redis holds a sale of other foods")
	ErrOtherSale    = errors.New("redis holds another sale")
	ErrOtherSecrets = errors.New("the servers of the sale have other token secrets")
	ErrSaleLost     = errors.New("redis has lost the sale")
	ErrNoSale       = errors.New("redis holds no sale")
)

// Opening is the sale to join or to open, and the server that does.
type Opening struct {
	Catalog string  // tells catalogues of foods apart
	Stock   []int64 // pieces of food 1, 2, 3, ... at the start
	Last    string  // id of the sale that this Redis is known to have held, "" for none: a new one is not opened then
	Only    string  // id of the one sale to join, "" for any: none is opened then

	Server []Fingerprint // one for each token secret, first the one that signs; none are not compared
	Alone  bool          // no other server has to agree with this one: it is never refused for Server
}

// Opened is an open sale.
type Opened struct {
	Sale    string      // its id
	Fresh   bool        // this call opened it
	Differs Differences // from the server that joined before
}

// Open joins the sale that Redis holds or, in a Redis without one, opens it. It is called when a server
// starts; while it runs only with Only, to tell of new fingerprints: a Redis that comes back empty must not
// be sold a second time. Errors: ErrOtherFoods, ErrOtherSale, ErrOtherSecrets, ErrSaleLost, ErrNoSale,
// ErrLeftover, or why Redis cannot be asked.
func Open(ctx context.Context, cfg Config, o Opening) (Opened, error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return Opened{}, err
	}
	defer l.Close()
	var pong string
	if err := l.ask(newCall().command(&pong, "PING"), cfg.Timeout); err != nil {
		return Opened{}, fmt.Errorf("cannot use Redis at %s: %w", cfg.Address, err)
	}
	opened, err := o.run(l, cfg, "")
	if !errors.Is(err, ErrNoSale) || o.Only != "" {
		return opened, err
	}
	if o.Last != "" {
		return Opened{}, fmt.Errorf("%w %s that was served from %s", ErrSaleLost, o.Last, cfg.Address)
	}
	leftover, err := findLeftover(ctx, l, cfg, leftoverSteps)
	if err != nil {
		return Opened{}, err
	}
	if leftover == "" {
		return o.run(l, cfg, newSaleID())
	}
	// It may be of a sale that another server has opened in this moment.
	if opened, err := o.run(l, cfg, ""); !errors.Is(err, ErrNoSale) {
		return opened, err
	}
	return Opened{}, leftoverError(cfg, leftover)
}

// run asks stock.lua to join the sale or, unless proposed is "", to open it under that id.
func (o *Opening) run(l *link, cfg Config, proposed string) (opened Opened, err error) {
	args := []string{"EVAL", stockSource, "2", saleKey, stockPrefix + proposed, proposed, o.Catalog,
		strconv.FormatInt(time.Now().Unix(), 10), o.Only, encodeFingerprints(o.Server), flag(o.Alone)}
	if proposed != "" {
		for _, pieces := range o.Stock {
			args = append(args, strconv.FormatInt(pieces, 10))
		}
	}
	var code, differences int64
	var catalog string
	x := newCall().command(&radix.Tuple{&code, &opened.Sale, &catalog, &differences}, args...)
	if err := l.ask(x, max(cfg.Timeout, openTimeout)); err != nil {
		return Opened{}, fmt.Errorf("cannot open the sale in Redis at %s: %w", cfg.Address, err)
	}
	opened.Fresh, opened.Differs = code == stockOpened, readDifferences(differences)
	switch {
	case code == stockNone:
		return Opened{}, fmt.Errorf("%w: %s", ErrNoSale, cfg.Address)
	case code == stockOther:
		return Opened{}, fmt.Errorf("%w: %s at %s", ErrOtherSale, opened.Sale, cfg.Address)
	case code < stockIsOpen || code > stockStranger:
		return Opened{}, unknownCode("stock.lua", code)
	case catalog != o.Catalog:
		return Opened{}, otherFoods(opened.Sale, cfg, catalog, o.Catalog)
	case code == stockStranger:
		return Opened{}, fmt.Errorf("%w: sale %s at %s", ErrOtherSecrets, opened.Sale, cfg.Address)
	}
	return opened, nil
}

// Find returns the id of the sale that Redis holds, without opening or joining one; only is the one to
// find, "" for any. Errors: ErrNoSale, ErrLeftover, ErrOtherSale, ErrOtherFoods, or why Redis cannot be
// asked.
func Find(ctx context.Context, cfg Config, catalog, only string) (id string, err error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer l.Close()
	opened, none := (&Opening{Catalog: catalog, Only: only}).run(l, cfg, "")
	if !errors.Is(none, ErrNoSale) {
		return opened.Sale, none
	}
	leftover, err := findLeftover(ctx, l, cfg, leftoverSteps)
	switch {
	case err != nil:
		return "", err
	case leftover != "":
		return "", leftoverError(cfg, leftover)
	}
	return "", none
}

func leftoverError(cfg Config, key string) error {
	return fmt.Errorf("%w: %s at %s", ErrLeftover, key, cfg.Address)
}

// flag is a boolean as the scripts read it.
func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

func otherFoods(id string, cfg Config, there, here string) error {
	return fmt.Errorf("%w: sale %s at %s has %s; here are %s", ErrOtherFoods, id, cfg.Address, there, here)
}

// newSaleID makes 8 random characters (40 bits).
func newSaleID() string {
	var b [5]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// Stock returns the pieces left of food 1, 2, 3, ...; ErrSaleGone where Redis does not hold this sale.
func (s *Sale) Stock() ([]int64, error) {
	var found presence
	var fields map[string]string
	x := s.prove(newCall(), &found).command(&fields, "HGETALL", s.stockKey)
	if err := s.do(x); err != nil {
		return nil, err
	}
	if err := s.observe(found); err != nil {
		return nil, err
	}
	stock := make([]int64, s.foods)
	for i := range stock {
		pieces, err := strconv.ParseInt(fields[strconv.Itoa(i+1)], 10, 64)
		if err != nil {
			return nil, s.observe(presence{})
		}
		stock[i] = pieces
	}
	return stock, nil
}
