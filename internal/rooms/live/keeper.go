package live

import (
	"context"
	_ "embed" // the script
	"fmt"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/observe/figures"
	"flashsale/redisx/pipeline"
)

const (
	// The moments of a second, by the clock of Redis: all servers add the second before, then all read it.
	writeAt = 100 * time.Millisecond
	readAt  = 600 * time.Millisecond

	serversMax  = 64                  // of one sale; one more takes the place of the one that was seen first
	keptFor     = 10 * 24 * time.Hour // as long as the curve
	timeSeconds = 10                  // for which p50_ms and p99_ms count
	fieldsMax   = 2000                // of the figures: the buckets of all tiers, and two more
)

//go:embed write.lua
var writeLua string

var writeScript = pipeline.NewScript(writeLua)

// KeeperConfig is what a Keeper needs.
type KeeperConfig struct {
	Redis   pipeline.Config
	Figures *figures.Memory // of all workers of the server
	Sale    string          // its id
	Server  string          // a name that no other server has, without blanks
}

// Keeper brings the figures of all servers together, in Redis: each second it adds those of its server,
// reads those of all, and puts up for the Hubs of its workers what viewers see. A server needs one Keeper.
type Keeper struct {
	cfg   KeeperConfig
	redis *pipeline.Conn
	at    func() string // the time for write.lua: "" for that of Redis, except in tests

	mu      sync.Mutex
	sale    string
	marks   []Mark
	unshown []Mark // that viewers do not know yet

	// All below is for the goroutine of Run.
	now     time.Time // of Redis, at the last answer
	since   time.Time // of that answer, by the clock of this process
	served  string    // the sale of what follows
	base    sums      // what had been counted when the sale began here
	own     sums      // what was counted at the last second
	placed  uint64    // orders of this server then
	written bool      // Redis has answered for this sale
	curve   *curve
	read    int64 // the second that was read last, 0 for a curve that must be read whole
	orders  int64 // of the sale at the last known second
	recent  [minuteSeconds]sums
	posted  []posted
}

// NewKeeper makes a Keeper. Run must run.
func NewKeeper(cfg KeeperConfig) *Keeper {
	k := &Keeper{cfg: cfg, sale: cfg.Sale, at: func() string { return "" }}
	k.redis = pipeline.New(cfg.Redis, pipeline.Options{Scripts: []*pipeline.Script{writeScript},
		FieldsMax: fieldsMax, Outage: &pipeline.Outage{Effect: "the live view shows this server alone",
			Over: "the live view shows all servers again"}})
	k.begin(cfg.Sale)
	k.base, k.own = parseSums(""), parseSums("") // all that a new server counts is of its sale
	return k
}

// Follow goes on with this sale. It is safe for concurrent use, as is Note.
func (k *Keeper) Follow(sale string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if sale != k.sale {
		k.sale, k.marks, k.unshown = sale, nil, nil
	}
}

// Note takes marks of a sale. Those that are known already count once.
func (k *Keeper) Note(sale string, found []Mark) {
	k.Follow(sale)
	k.mu.Lock()
	defer k.mu.Unlock()
	var added []Mark
	k.marks, added = withMarks(k.marks, found)
	k.unshown = append(k.unshown, added...)
}

// Prepare reads what the servers have noted so far, so that the first viewers see it. It must come before
// Run.
func (k *Keeper) Prepare(ctx context.Context) error {
	defer k.post()
	l, err := pipeline.Dial(ctx, k.cfg.Redis)
	if err != nil {
		return err
	}
	defer l.Close()
	var texts map[string]string
	if err := l.Do(k.readWhole(&texts), k.cfg.Redis.Timeout); err != nil {
		return fmt.Errorf("cannot read the figures of the sale: %w", err)
	}
	k.load(texts)
	return nil
}

// Run works until ctx ends, then it leaves the set of the servers. It returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	background.Beside(k.redis.Run, func() {
		for k.pauseTo(ctx, writeAt) {
			k.follow()
			own := k.count()
			if !k.write(&own) {
				k.showAlone(&own)
			} else if k.pauseTo(ctx, readAt) {
				k.show()
			}
		}
		k.leave()
	})
	return nil
}

// pauseTo waits for a moment of a second, by the clock of Redis. It returns false once ctx has ended.
func (k *Keeper) pauseTo(ctx context.Context, at time.Duration) bool {
	now := k.clock()
	pause := now.Truncate(time.Second).Add(at).Sub(now)
	if pause <= 0 {
		pause += time.Second
	}
	return background.Pause(ctx, pause)
}

// clock is the time of Redis, as far as it is known.
func (k *Keeper) clock() time.Time {
	if k.since.IsZero() {
		return time.Now()
	}
	return k.now.Add(time.Since(k.since))
}

// begin begins anew, with the figures of another sale.
func (k *Keeper) begin(sale string) {
	k.served, k.written, k.read, k.orders = sale, false, 0, Unknown
	k.base, k.placed = ownSums(k.cfg.Figures, sale)
	k.own, k.curve, k.recent, k.posted = k.base, newCurve(), [minuteSeconds]sums{}, nil
}

// follow takes over the next sale.
func (k *Keeper) follow() {
	k.mu.Lock()
	sale := k.sale
	k.mu.Unlock()
	if sale == k.served {
		return
	}
	var deleted int
	// Without an answer they expire.
	_ = k.redis.Do(pipeline.Command(&deleted, append([]string{"UNLINK"}, keysOf(k.served)...)...))
	k.begin(sale)
}

// leave takes the server out of the set: the others do not miss it.
func (k *Keeper) leave() {
	var deleted int
	keys := keysOf(k.served)
	x := pipeline.Command(&deleted, "ZREM", keys[2], k.cfg.Server)
	// Without an answer they miss it for some seconds.
	_ = k.redis.Do(x.Command(&deleted, "HDEL", keys[1], k.cfg.Server))
}

// still reports whether the curve stays as it is.
func (k *Keeper) still() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return isOver(k.marks, k.clock())
}
