package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

// The rooms of every server of a drill. The drill's own events never reach their rates. No VK takes the
// bot's replies, so all of them stay in the queue.
const (
	limitRules = "drill_open by user 1000000/m; drill_closed by user 1000000/m closed; " +
		"message by user unlimited; message by ip unlimited"
	botSecret = "key"
	roomFlags = "-repeats -vk-confirmation c -vk-secret " + botSecret + " -vk-token t " +
		"-vk-api http://127.0.0.1:1 -vk-queue 1000000"

	listRows   = "PASSP_SERIES,PASSP_NUMBER\n4509,123456\n"
	listedOne  = `["4509,123456","4509,123457"]`
	listReply  = `["4509,123456"]`
	repliesKey = "repeats:{r}:replies:0"

	callers = 4 // of each room
)

// writeList makes a list for -blocklist and returns its path.
func writeList(folder string) (string, error) {
	path := filepath.Join(folder, "list.csv.bz2")
	cmd := exec.Command("sh", "-c", `exec bzip2 -c > "$0"`, path)
	cmd.Stdin = strings.NewReader(listRows)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot pack a list with bzip2: %w", err)
	}
	return path, nil
}

// roomCallers call the rooms all the time while faults go on, and count the answers.
type roomCallers struct {
	s *stack

	mu     sync.Mutex
	counts map[string]int
}

// roomsWithoutRedis freezes and kills Redis and kills the server under calls of the rooms. The blocklist
// answers from memory. An open rule lets all calls pass, a closed rule answers 503, and once Redis is back
// both count again. No answered text is lost, and each event of the bot has exactly one reply.
func roomsWithoutRedis(ctx context.Context, s *stack, dice *rand.Rand) error {
	address := s.servers[0].address
	root, reader := newShopper(address, 1), newShopper(address, lister)
	if err := errors.Join(root.Login("root", rootPassword), reader.login()); err != nil {
		return err
	}
	c := &roomCallers{s: s, counts: map[string]int{}}
	if err := testkit.Await(ctx, "list", startMax, func() bool {
		a, _, _ := reader.ask(checkList)
		return a == "200"
	}); err != nil {
		return err
	}
	// A killed server gives no answer, but the texts and events that it has stored count.
	answered, stored := repeated{ctx: ctx}, repeated{ctx: ctx}
	defer stored.stop()
	defer answered.stop()
	answered.start(reader, c.askList)
	for i := range callers {
		answered.start(root, func(one *shopper) { c.askLimit(one, "drill_open", i) })
		answered.start(root, func(one *shopper) { c.askLimit(one, "drill_closed", i) })
		stored.start(reader, c.textWriter(fmt.Sprint("text ", i)))
		stored.start(reader, c.eventWriter(ctx, fmt.Sprint("event ", i)))
	}
	if err := s.eachFault(ctx, dice, redisFrozen, redisKilled); err != nil {
		return err
	}
	before := c.count("drill_closed counted")
	if err := testkit.Await(ctx, "decision that is counted once Redis is back", refusalMax, func() bool {
		return c.count("drill_closed counted") > before
	}); err != nil {
		return err
	}
	answered.stop()
	if err := s.eachFault(ctx, dice, serverKilled); err != nil {
		return err
	}
	stored.stop()
	return c.judge(ctx)
}

// eachFault makes one fault after the other, and awaits service after each.
func (s *stack) eachFault(ctx context.Context, dice *rand.Rand, faults ...fault) error {
	for _, fault := range faults {
		if err := fault(ctx, s, dice); err != nil {
			return err
		}
		if err := s.awaitService(ctx); err != nil {
			return err
		}
	}
	return nil
}

// repeated are callers that call until stop, each on a connection of its own.
type repeated struct {
	ctx   context.Context
	stops []func()
}

func (r *repeated) start(user *shopper, ask func(*shopper)) {
	one := user.regular()
	stop := repeat(r.ctx, func() { ask(one) })
	r.stops = append(r.stops, func() {
		stop()
		one.HangUp()
	})
}

// stop returns when each caller has its last answer.
func (r *repeated) stop() {
	for _, stop := range r.stops {
		stop()
	}
}

func (c *roomCallers) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

func (c *roomCallers) count(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[what]
}

var checkList = call{"POST", "/blocklist/check", listedOne}

func (c *roomCallers) askList(one *shopper) {
	if a, reply, took := one.ask(checkList); a != "200" || reply != listReply {
		c.s.breaks("the blocklist answered %s %s after %v while Redis was away", a, reply, took)
	}
	c.add("checks of the blocklist")
}

// askLimit asks for a decision about an event. A remaining number shows that Redis has counted the event.
func (c *roomCallers) askLimit(one *shopper, event string, caller int) {
	body := fmt.Sprintf(`{"event":%q,"features":{"user":"caller-%d"}}`, event, caller)
	switch a, reply, _ := one.ask(call{"POST", "/limits/check", body}); {
	case a == "200" && strings.Contains(reply, `"remaining"`):
		c.add(event + " counted")
	case a == "200":
		c.add(event + " passed")
	case strings.HasPrefix(string(a), "503"):
		c.add(event + " refused")
	default:
		c.s.breaks("a decision about %s is answered %s", event, a)
	}
}

// textWriter sends one text, which no other caller sends: the server must count it at least as often as it
// answered, and at most as often as it was sent.
func (c *roomCallers) textWriter(text string) func(*shopper) {
	answered, unknown := 0, 0
	return func(one *shopper) {
		a, reply, _ := one.ask(call{"POST", "/repeats", fmt.Sprintf(`{"text":%q}`, text)})
		if a.hurts() {
			unknown++
			return
		}
		var is struct{ Count int }
		err := json.Unmarshal([]byte(reply), &is)
		if a != "200" || err != nil || is.Count < answered || is.Count > answered+unknown {
			c.s.breaks("%s: %s %s, but %d calls were answered and %d may have counted", text, a, reply, answered,
				unknown)
		}
		answered++
		c.add("texts")
	}
}

// eventWriter sends events in turn, each until the answer is "ok", as VK does.
func (c *roomCallers) eventWriter(ctx context.Context, name string) func(*shopper) {
	events := 0
	return func(one *shopper) {
		event := call{"POST", "/vk/callback", messageToBot(0, fmt.Sprint(name, " ", events), 1)}
		for ; ctx.Err() == nil; background.Pause(ctx, probePace) {
			a, reply, _ := one.ask(event)
			if a == "200" && reply == "ok" {
				events++
				c.add("events of the bot")
				return
			}
			if !a.hurts() {
				c.s.breaks("POST /vk/callback is answered %s %s", a, reply)
				return
			}
		}
	}
}

// messageToBot is the body with which VK sends a message; 0 is the only group of a server.
func messageToBot(group int, event string, peer int) string {
	of := ""
	if group > 0 {
		of = fmt.Sprintf(`"group_id":%d,`, group)
	}
	return fmt.Sprintf(`{"type":"message_new",%s"event_id":%q,"secret":%q,"object":{"peer_id":%d,"text":"hi"}}`,
		of, event, botSecret, peer)
}

// judge compares the answers with the promises, and with the data in Redis.
func (c *roomCallers) judge(ctx context.Context) error {
	c.s.note("%v", c.counts)
	if c.counts["drill_open passed"] == 0 || c.counts["drill_open refused"] > 0 ||
		c.counts["drill_closed refused"] == 0 || c.counts["drill_closed passed"] > 0 {
		c.s.breaks("while Redis is away an open rule must let pass, a closed one refuse")
	}
	replies, err := c.s.redis.number(ctx, "HLEN", repliesKey)
	if err != nil {
		return err
	}
	events := c.counts["events of the bot"]
	if int64(events) != replies {
		c.s.breaks("%d events were answered ok, but %d replies are in the queue", events, replies)
	}
	if c.counts["texts"] == 0 || events == 0 {
		return errors.New("no text or no event was answered: the drill proves nothing")
	}
	return nil
}
