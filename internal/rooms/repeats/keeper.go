package repeats

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	sweepTexts    = 10                    // of one step
	sweepEntries  = 100                   // of each text in one step: a larger step could stall Redis
	sweepInterval = time.Second           // between two checks when no text is due
	sweepPause    = 10 * time.Millisecond // between two steps
)

// Keeper does the work behind the Counters. A server needs one Keeper; the Keepers of one Redis share the
// work.
type Keeper struct {
	cfg      Config
	redis    *pipeline.Conn
	vk       *vkClient
	senders  atomic.Pointer[[]*sender] // one for each group
	regroups chan struct{}             // there are other senders to run
}

// NewKeeper makes a Keeper. Without a group of VK it sends no replies.
func NewKeeper(cfg Config, vk VK) *Keeper {
	redis := pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{sweepScript, takeScript, settleScript},
		Outage:  &pipeline.Outage{Effect: "repeated messages are not swept, and replies wait"},
	})
	k := &Keeper{cfg: cfg, redis: redis, vk: newVKClient(vk), regroups: make(chan struct{}, 1)}
	k.Regroup(vk.Groups)
	return k
}

// Regroup takes the groups of the bot and their tokens anew. It is safe for concurrent use.
func (k *Keeper) Regroup(groups []Group) {
	var senders []*sender
	for _, group := range groups {
		senders = append(senders, newSender(k.cfg, k.redis, k.vk, group))
	}
	k.senders.Store(&senders)
	select {
	case k.regroups <- struct{}{}:
	default: // they are to be run anew already
	}
}

// Run works until ctx ends, and returns nil then. Replies that are being sent go back into the queue.
func (k *Keeper) Run(ctx context.Context) error {
	background.Beside(k.redis.Run, func() {
		var work sync.WaitGroup
		work.Go(func() { background.Repeat(ctx, k.sweepSome) })
		work.Go(func() { k.sendAll(ctx) })
		work.Wait()
	})
	return nil
}

// sendAll runs the senders until ctx ends, and starts anew after each Regroup.
func (k *Keeper) sendAll(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-k.regroups:
		default:
		}
		these, end := context.WithCancel(ctx)
		var sending sync.WaitGroup
		for _, s := range *k.senders.Load() {
			sending.Go(func() { s.run(these) })
		}
		select {
		case <-k.regroups:
		case <-ctx.Done():
		}
		end()
		sending.Wait()
	}
}

// Waiting returns the number of replies that wait to be sent, on all servers.
func (k *Keeper) Waiting() (sum int64, err error) {
	for _, s := range *k.senders.Load() {
		var n int64
		if err := k.redis.Do(pipeline.Command(&n, "ZCARD", s.queue.due)); err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Refused reports for each group whether VK refuses its token.
func (k *Keeper) Refused() map[int64]bool {
	refused := map[int64]bool{}
	for _, s := range *k.senders.Load() {
		refused[s.group.ID] = s.refused.Load()
	}
	return refused
}

// Up reports whether the last reply of each group reached VK. A token that VK refuses is another matter.
func (k *Keeper) Up() bool {
	return !slices.ContainsFunc(*k.senders.Load(), func(s *sender) bool { return s.failing.Load() })
}

// sweepSome makes one step and returns the pause until the next one.
func (k *Keeper) sweepSome() (pause time.Duration) {
	if due, err := k.sweep(); err == nil && due > 0 {
		return sweepPause
	}
	return sweepInterval
}

// sweep makes one step and returns the number of texts that were due. The log of the connection has its
// errors.
func (k *Keeper) sweep() (due int64, err error) {
	var texts []string
	err = k.redis.Do(pipeline.Command(&texts, "ZRANGE", sweepsKey, "0", strconv.Itoa(sweepTexts-1)))
	if err != nil || len(texts) == 0 {
		return 0, err
	}
	keys := append([]string{sweepsKey}, texts...)
	x := sweepScript.Call(&due, keys, k.cfg.window(), strconv.Itoa(sweepEntries), k.cfg.now())
	err = k.redis.Do(x)
	return due, err
}
