package repeats

import (
	"context"
	_ "embed" // the script
	"strconv"
	"sync"
	"time"

	"flashsale/redisx/pipeline"
)

var (
	//go:embed sweep.lua
	sweepSource string

	sweepScript = pipeline.NewScript(recordSource + sweepSource)
)

const (
	sweepTexts    = 10                    // of one step
	sweepEntries  = 100                   // of each text in one step: the README has what more would take
	sweepInterval = time.Second           // between two looks when no text is due
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

// Waiting returns the number of replies that wait to be sent, on all servers.
func (k *Keeper) Waiting() (n int64, err error) {
	err = k.redis.Do(pipeline.Command(&n, "ZCARD", dueKey))
	return n, err
}

// Up reports whether the last reply that was sent reached VK.
func (k *Keeper) Up() bool { return k.sender == nil || !k.sender.failing.Load() }

// sweepAll sweeps until ctx ends.
func (k *Keeper) sweepAll(ctx context.Context) {
	for pause(ctx, 0) {
		next := sweepInterval
		if due, err := k.sweep(); err == nil && due > 0 {
			next = sweepPause
		}
		pause(ctx, next)
	}
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
