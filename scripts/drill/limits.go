package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"flashsale/internal/testkit/client"
)

// limitRules are those of every drill's servers: two events that only limitsWithoutRedis asks about. No rate
// of them is ever reached.
const limitRules = "drill_open by user 1000000/m; drill_closed by user 1000000/m closed"

const limitCallers = 8 // of each event

// decisions are the answers about one event.
type decisions struct {
	mu      sync.Mutex
	counted int // 200 with what Redis has counted
	passed  int // 200 without it: an open rule
	refused int // 503: a closed rule
}

// limitsWithoutRedis asks for decisions while Redis is frozen and then killed. An open rule lets all calls
// pass, a closed one answers 503, and once Redis is back both count again.
func limitsWithoutRedis(ctx context.Context, s *stack, dice *rand.Rand) error {
	root := &client.Client{Address: s.servers[0].address, Timeout: answerPatient}
	defer root.HangUp()
	if err := root.Login("root", rootPassword); err != nil {
		return err
	}
	asking, stop := context.WithCancel(ctx)
	var callers sync.WaitGroup
	list := map[string]*decisions{"drill_open": {}, "drill_closed": {}}
	for event, d := range list {
		for i := range limitCallers {
			callers.Go(func() { s.askLimits(asking, root.Token, event, i, d) })
		}
	}
	err := s.redis.freeze(ctx, 5*time.Second)
	if err == nil {
		err = s.awaitService(ctx)
	}
	if err == nil {
		err = s.killRedisOnce(ctx, dice)
	}
	if err == nil {
		err = s.awaitService(ctx)
	}
	before := list["drill_closed"].total()
	pause(ctx, time.Second)
	stop()
	callers.Wait()
	if err != nil {
		return err
	}
	open, closed := list["drill_open"], list["drill_closed"]
	s.note("decisions: open rule %d counted, %d passed; closed rule %d counted, %d refused", open.counted,
		open.passed, closed.counted, closed.refused)
	if open.passed == 0 || open.refused > 0 || closed.refused == 0 || closed.passed > 0 {
		s.breaks("while Redis is away an open rule must let pass, a closed one refuse")
	}
	if closed.total() == before {
		s.breaks("no decision was counted once Redis was back")
	}
	return nil
}

// total is the number of decisions that Redis counted.
func (d *decisions) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counted
}

// askLimits asks about an event until ctx ends.
func (s *stack) askLimits(ctx context.Context, token, event string, caller int, d *decisions) {
	c := &client.Client{Address: s.servers[0].address, Timeout: answerPatient, Token: token}
	defer c.HangUp()
	body := fmt.Sprintf(`{"event":%q,"features":{"user":"caller-%d"}}`, event, caller)
	for ctx.Err() == nil {
		reply, err := c.Do("POST", "/limits/check", body)
		d.mu.Lock()
		switch {
		case err == nil && reply.Status == 200 && strings.Contains(reply.Body, `"remaining"`):
			d.counted++
		case err == nil && reply.Status == 200:
			d.passed++
		case err == nil && reply.Status == 503:
			d.refused++
		default:
			s.breaks("a decision about %s: %d, %v", event, reply.Status, err)
		}
		d.mu.Unlock()
		pause(ctx, probePace)
	}
}
