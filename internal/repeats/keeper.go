package repeats

import (
	"context"
	_ "embed" // the scripts
	"log/slog"
	"strconv"
	"sync"
	"time"

	"flashsale/redisx/pipeline"
)

var (
	//go:embed sweep.lua
	sweepSource string
	//go:embed take.lua
	takeSource string
	//go:embed settle.lua
	settleSource string

	sweepScript  = pipeline.NewScript(recordSource + sweepSource)
	takeScript   = pipeline.NewScript(recordSource + takeSource)
	settleScript = pipeline.NewScript(recordSource + settleSource)
)

const (
	sweepTexts    = 10                    // of one step
	sweepEntries  = 100                   // of each text in one step: the README has what more would take
	sweepInterval = time.Second           // between two looks when there is nothing to trim
	sweepPause    = 10 * time.Millisecond // between two steps
)

// Keeper does the work behind the Counters. One in each server is enough; several of one Redis share it.
type Keeper struct {
	cfg    Config
	redis  *pipeline.Conn
	sender *sender // nil without a bot
}

// NewKeeper makes a Keeper. Without a token of VK it sends no replies.
func NewKeeper(cfg Config, vk VK) *Keeper {
	k := &Keeper{cfg: cfg, redis: pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{sweepScript, takeScript, settleScript},
		Outage:  &pipeline.Outage{Effect: "repeated messages are not swept, and replies wait"},
	})}
	if vk.Token != "" {
		k.sender = newSender(cfg, k.redis, vk)
	}
	return k
}

// Run works until ctx ends, and returns nil then. Replies that are being sent go back into the queue.
func (k *Keeper) Run(ctx context.Context) error {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	var redis, work sync.WaitGroup
	redis.Go(func() { _ = k.redis.Run(connected) }) // it returns nil
	work.Go(func() { k.sweepAll(ctx) })
	if k.sender != nil {
		work.Go(func() { k.sender.run(ctx) })
	}
	work.Wait()
	disconnect()
	redis.Wait()
	return nil
}

// sweepAll sweeps until ctx ends.
func (k *Keeper) sweepAll(ctx context.Context) {
	for pause(ctx, 0) {
		next := sweepInterval
		if removed, err := k.sweep(); err == nil && removed > 0 {
			next = sweepPause
		}
		pause(ctx, next)
	}
}

// sweep makes one step and returns the number of entries that it removed. The log of the connection has its
// errors.
func (k *Keeper) sweep() (removed int64, err error) {
	var texts []string
	err = k.redis.Do(pipeline.Command(&texts, "SRANDMEMBER", largeKey, strconv.Itoa(sweepTexts)))
	if err != nil || len(texts) == 0 {
		return 0, err
	}
	keys := append([]string{largeKey}, texts...)
	x := sweepScript.Call(&removed, keys, k.cfg.window(), strconv.Itoa(sweepEntries), k.cfg.now())
	err = k.redis.Do(x)
	return removed, err
}

// take returns the reply that is due, or how long to wait before the next look.
func (s *sender) take() (r *waiting, wait time.Duration) {
	var reply []string
	x := takeScript.Call(&reply, []string{dueKey, repliesKey, paceKey},
		strconv.FormatInt(s.vk.interval().Milliseconds(), 10), strconv.FormatInt(lease.Milliseconds(), 10),
		s.cfg.now())
	if err := s.redis.Do(x); err != nil || len(reply) != 3 {
		return nil, idleWait
	}
	if reply[1] != "" {
		r, err := parseWaiting(reply[1], reply[2])
		if err == nil {
			return r, 0
		}
		slog.Error("a reply in the queue cannot be read; it is thrown away", "error", err)
		s.settle(&waiting{event: reply[1]}, "", 0)
		return nil, 0
	}
	ms, err := strconv.ParseInt(reply[0], 10, 64)
	if err != nil || ms < 0 {
		return nil, idleWait
	}
	return nil, min(time.Duration(ms)*time.Millisecond, idleWait)
}

// settle takes a reply out of the queue or, with a text of it, has it wait there. While Redis is away that
// fails, and the reply is sent again after the lease: VK knows it by its random_id.
func (s *sender) settle(r *waiting, text string, wait time.Duration) {
	var code int64
	_ = s.redis.Do(settleScript.Call(&code, []string{dueKey, repliesKey}, r.event, text,
		strconv.FormatInt(wait.Milliseconds(), 10), s.cfg.now()))
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
