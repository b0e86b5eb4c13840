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

	"flashsale/redisx/pipeline"
)

// stockTimeout is the least time for a script that reads or writes the stock of every food.
const stockTimeout = 10 * time.Second

// StockTimeout is the time for a script that reads or writes the stock of every food.
func (c Config) StockTimeout() time.Duration { return max(c.Timeout, stockTimeout) }

// What open.lua returns.
const (
	openIsOpen   = 0
	openOpened   = 1
	openNone     = 2
	openOther    = 3
	openStranger = 4
	openTurning  = 5
	openOver     = 6
)

// Why a sale is neither opened nor joined; see also ErrLeftover.
var (
	ErrOtherFoods   = errors.New("redis holds a sale of other foods")
	ErrOtherSale    = errors.New("redis holds another sale")
	ErrOtherSecrets = errors.New("the server that joined the sale last has other token secrets")
	ErrSaleLost     = errors.New("redis has lost the sale")
	ErrMarkerLost   = errors.New("redis has lost the key " + MarkerKey)
	ErrNoSale       = errors.New("redis holds no sale")
	ErrTurning      = errors.New("the next sale is being opened in redis")
	ErrOtherSlices  = errors.New("the sale has another number of slices")
	ErrOtherHold    = errors.New("the sale holds its orders for another time")
)

// Opening describes the sale to join or to open, and the server that joins.
type Opening struct {
	Catalog string  // fingerprint of the foods
	Stock   []int64 // pieces of food 1, 2, 3, ... at the start
	Last    string  // id of the sale that this Redis has held, "" for none; with it no sale is opened
	Only    string  // id of the only sale to join, or of one before it, "" for any; with it no sale is opened
	Times           // of a sale that is opened

	Server []Fingerprint // one for each token secret, the signing secret first; empty: nothing is compared
	Alone  bool          // no other server has to agree with this one, so ErrOtherSecrets is impossible
}

// Opened is an open sale.
type Opened struct {
	Sale    string      // its id
	Fresh   bool        // this call opened it
	Times               // as in Redis; the Opening may differ
	Differs Differences // from the server that joined before

	Previous []string // ids of the sales before it in this Redis, the last one first

	filling bool // slices may be missing
}

// Open joins the sale that Redis holds or, in a Redis without a sale, opens one. It is called when a server
// starts. A running server calls it only with Only set, to publish new fingerprints: in a Redis that comes
// back empty it must not open a second sale of the same stock. Errors: ErrOtherFoods, ErrOtherSale,
// ErrOtherSecrets, ErrSaleLost, ErrMarkerLost, ErrNoSale, ErrLeftover, ErrClosesInPast, ErrTurning
// (turnover.Open completes the turnover), or why Redis cannot be asked.
func Open(ctx context.Context, cfg Config, o Opening) (Opened, error) {
	opened, err := o.open(ctx, cfg)
	if err == nil && opened.filling {
		err = Fill(ctx, cfg, opened.Sale, o.Stock)
	}
	return opened, err
}

// open opens or joins the home slice.
func (o *Opening) open(ctx context.Context, cfg Config) (Opened, error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return Opened{}, err
	}
	defer l.Close()
	if err := sayPing(l, cfg); err != nil {
		return Opened{}, err
	}
	opened, err := o.run(l, cfg, "")
	if !errors.Is(err, ErrNoSale) || o.Only != "" {
		return opened, err
	}
	if o.Last != "" {
		return Opened{}, o.lost(l, cfg)
	}
	leftover, err := findLeftover(ctx, l, cfg, leftoverSteps)
	if err != nil {
		return Opened{}, err
	}
	if leftover == "" {
		if err := cfg.CheckClocks(ctx, o.Times); err != nil {
			return Opened{}, err
		}
		return o.run(l, cfg, NewID())
	}
	// The key may belong to a sale that another server has just opened.
	if opened, err := o.run(l, cfg, ""); !errors.Is(err, ErrNoSale) {
		return opened, err
	}
	return Opened{}, leftoverError(cfg, leftover)
}

// lost is the error for a Redis that has lost the sale. If the stock is still there, a person has deleted
// the marker, and the error shows how to put the marker back.
func (o *Opening) lost(l *pipeline.Link, cfg Config) error {
	var stock int
	if err := l.Do(pipeline.Command(&stock, "EXISTS", cfg.KeysOf(o.Last, 0).Stock), cfg.Timeout); err != nil {
		return fmt.Errorf("cannot look for the stock in Redis at %s: %w", cfg.Address, err)
	}
	if stock == 0 {
		return fmt.Errorf("%w %s that was served from %s", ErrSaleLost, o.Last, cfg.Address)
	}
	return fmt.Errorf("%w; the stock of sale %s, which was served from %s, is still there: if these foods are "+
		"that sale's, put the key back as a closed sale with HSET %s id %[2]s catalog %[5]q closed 1 state "+
		"closed (and previous ID, the sale before it, if there was one), then set its times and open it with "+
		"flashsale sale open", ErrMarkerLost, o.Last, cfg.Address, MarkerKey, o.Catalog)
}

// run lets open.lua join the sale or, unless proposed is "", open a sale with that id.
func (o *Opening) run(l *pipeline.Link, cfg Config, proposed string) (opened Opened, err error) {
	opensAt, closesAt := o.Times.Texts()
	args := []string{proposed, o.Catalog, o.Only, encodeFingerprints(o.Server), strconv.FormatBool(o.Alone),
		opensAt, closesAt, strconv.Itoa(cfg.SliceCount()), strconv.FormatInt(sumOf(o.Stock), 10),
		strconv.FormatInt(cfg.Hold.Milliseconds(), 10)}
	if proposed != "" {
		args = append(args, cfg.Shares(o.Stock, 0)...)
	}
	var code, differences int64
	var catalog, opens, closes, previous string
	var parts int
	var hold int64
	reply := radix.Tuple{&code, &opened.Sale, &catalog, &differences, &opens, &closes, &previous, &parts,
		&opened.filling, &hold}
	k := cfg.KeysOf(proposed, 0)
	x := openScript.Eval(&reply, []string{k.Marker, k.Stock, k.Gate, k.Log}, args...)
	if err := l.Do(x, cfg.StockTimeout()); err != nil {
		return Opened{}, fmt.Errorf("cannot open the sale in Redis at %s: %w", cfg.Address, err)
	}
	opened.Fresh, opened.Differs = code == openOpened, readDifferences(differences)
	opened.Times = Times{timeOf(optional(opens)), timeOf(optional(closes))}
	opened.Previous = strings.Fields(previous)
	switch {
	case code == openNone:
		return Opened{}, fmt.Errorf("%w: %s", ErrNoSale, cfg.Address)
	case code == openOther:
		return Opened{}, fmt.Errorf("%w: %s at %s", ErrOtherSale, opened.Sale, cfg.Address)
	case code == openTurning:
		return opened, fmt.Errorf("%w: sale %s at %s", ErrTurning, opened.Sale, cfg.Address)
	case code == openOver:
		return Opened{}, fmt.Errorf("%w: %s", ErrClosesInPast, o.ClosesAt.Format(time.RFC3339Nano))
	case code < openIsOpen || code > openTurning:
		return Opened{}, pipeline.UnknownCode("open.lua", code)
	case parts != cfg.SliceCount():
		return Opened{}, otherSlices(cfg, opened.Sale, parts)
	case len(o.Stock) > 0 && hold != cfg.Hold.Milliseconds(): // a command only looks
		return Opened{}, fmt.Errorf("%w: sale %s at %s has %v, -hold (HOLD) is %v", ErrOtherHold, opened.Sale,
			cfg.Address, time.Duration(hold)*time.Millisecond, cfg.Hold)
	case catalog != o.Catalog:
		return Opened{}, fmt.Errorf("%w: sale %s at %s has %s; here are %s", ErrOtherFoods, opened.Sale,
			cfg.Address, catalog, o.Catalog)
	case code == openStranger:
		return Opened{}, fmt.Errorf("%w: sale %s at %s", ErrOtherSecrets, opened.Sale, cfg.Address)
	}
	return opened, nil
}

// Find returns the id of the sale that Redis holds, without opening or joining a sale; only is the id of the
// only sale to find, "" for any. Errors: ErrNoSale, ErrLeftover, ErrOtherSale, ErrOtherFoods, ErrTurning, or
// why Redis cannot be asked.
func Find(ctx context.Context, cfg Config, catalog, only string) (id string, err error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return "", err
	}
	defer l.Close()
	opened, none := (&Opening{Catalog: catalog, Only: only}).run(l, cfg, "")
	if none == nil && only != "" && opened.Sale != only { // the sale is one before that
		none = fmt.Errorf("%w: %s at %s, which has followed on %s", ErrOtherSale, opened.Sale, cfg.Address, only)
	}
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

const idLen = 8 // characters of a sale's id

// isSaleID reports whether NewID may have made an id.
func isSaleID(id string) bool {
	return len(id) == idLen && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// NewID makes the id of a sale: 8 random characters (40 bits).
func NewID() string {
	var b [5]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// Fingerprint describes the facts on which the servers of a sale must agree, for one of a server's token
// secrets. Each field has 16 hex digits that reveal nothing about the facts. Only fingerprints under the
// same secret can be compared.
type Fingerprint struct {
	Secret string // of the token secret
	Root   string // of root's password, keyed by the secret
	Users  string // of all other users, keyed by the secret
}

// Differences are what a server has otherwise than the server that joined the sale before.
type Differences struct {
	TheyRefuse bool // the other servers refuse tokens and carts that this one signs
	WeRefuse   bool // this server refuses tokens and carts that another one signs
	Root       bool // root's password
	Users      bool // the other users
}

// The bits of open.lua's differences.
const (
	differTheyRefuse = 1 << iota
	differWeRefuse
	differRoot
	differUsers
)

func readDifferences(bits int64) Differences {
	return Differences{
		TheyRefuse: bits&differTheyRefuse != 0,
		WeRefuse:   bits&differWeRefuse != 0,
		Root:       bits&differRoot != 0,
		Users:      bits&differUsers != 0,
	}
}

// encodeFingerprints writes fingerprints for open.lua.
func encodeFingerprints(list []Fingerprint) string {
	var texts []string
	for _, f := range list {
		texts = append(texts, f.Secret+":"+f.Root+":"+f.Users)
	}
	return strings.Join(texts, ",")
}
