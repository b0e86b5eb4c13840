package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"flashsale/internal/testkit/client"
)

// The room of repeated messages, with a bot. Nothing takes its replies, so all of them stay in the queue.
const (
	botSecret    = "key"
	repeatsFlags = "-limits off -repeats -vk-confirmation c -vk-secret " + botSecret + " -vk-token t " +
		"-vk-api http://127.0.0.1:1 -vk-queue 1000000"
	repliesKey = "repeats:{r}:replies:0"
	writers    = 4 // of texts, and as many of messages to the bot
	writerPace = 2 * time.Millisecond
)

// repeatsFaults kills and freezes Redis and kills the server while texts and messages to the bot come. What
// was answered counts: each text at least as often as that, and not more often than it was sent. An event
// that is sent until it gets "ok", as VK does, has exactly one reply.
func repeatsFaults(ctx context.Context, s *stack, dice *rand.Rand) error {
	address := s.servers[0].address
	reader := newShopper(address, lister)
	if err := reader.login(); err != nil {
		return err
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	texts, events := make([]textWriter, writers), make([]eventWriter, writers)
	for i := range writers {
		texts[i] = textWriter{caller: callerOf(address, reader.Token), text: fmt.Sprint("text ", i)}
		events[i] = eventWriter{caller: callerOf(address, ""), name: fmt.Sprint("event ", i)}
		all.Go(func() { texts[i].run(ctx, s, over) })
		all.Go(func() { events[i].run(ctx, s, over) })
	}
	err := s.repeatsFault(ctx, dice)
	close(over)
	all.Wait()
	if err != nil {
		return err
	}
	return s.judgeRepeats(ctx, texts, events)
}

func (s *stack) repeatsFault(ctx context.Context, dice *rand.Rand) error {
	for _, fault := range []func(context.Context, *stack, *rand.Rand) error{
		redisKilled, redisFrozen, serverKilled,
	} {
		if err := fault(ctx, s, dice); err != nil {
			return err
		}
		if err := s.awaitService(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judgeRepeats compares what Redis holds with what was answered.
func (s *stack) judgeRepeats(ctx context.Context, texts []textWriter, events []eventWriter) error {
	counted, done := 0, int64(0)
	for i := range texts {
		counted += texts[i].answered
	}
	for i := range events {
		done += int64(events[i].done)
	}
	replies, err := s.redis.number(ctx, "HLEN", repliesKey)
	if err != nil {
		return err
	}
	s.note("%d texts were counted, %d messages to the bot have their reply", counted, done)
	if replies != done {
		s.breaks("%d events were answered ok, but %d replies are in the queue", done, replies)
	}
	if counted == 0 || done == 0 {
		return fmt.Errorf("%d texts and %d events were answered: the drill proves nothing", counted, done)
	}
	return nil
}

func callerOf(address, token string) *client.Client {
	return &client.Client{Address: address, Token: token, Timeout: answerPatient, NewConnections: true}
}

// textWriter counts one text again and again, which nobody else does.
type textWriter struct {
	caller   *client.Client
	text     string
	answered int // calls that were
	unknown  int // calls that may have counted
}

func (w *textWriter) run(ctx context.Context, s *stack, over <-chan struct{}) {
	for goesOn(ctx, over) {
		r, err := w.caller.Do("POST", "/repeats", fmt.Sprintf(`{"text":%q}`, w.text))
		switch {
		case err != nil || r.Status == http.StatusServiceUnavailable:
			w.unknown++
		case r.Status != http.StatusOK:
			s.breaks("POST /repeats answers %d %s", r.Status, r.Body)
		default:
			var reply struct{ Count int }
			if err := json.Unmarshal([]byte(r.Body), &reply); err != nil || reply.Count < w.answered ||
				reply.Count > w.answered+w.unknown {
				s.breaks("%s: %s, but %d calls were answered and %d may have counted", w.text, r.Body, w.answered,
					w.unknown)
			}
			w.answered++
		}
	}
}

// eventWriter sends one event after the other, each until it gets "ok".
type eventWriter struct {
	caller *client.Client
	name   string
	done   int // events
}

func (w *eventWriter) run(ctx context.Context, s *stack, over <-chan struct{}) {
	for goesOn(ctx, over) {
		w.send(ctx, s)
	}
}

func (w *eventWriter) send(ctx context.Context, s *stack) {
	body := `{"type":"message_new","secret":"` + botSecret + `","event_id":"` + w.name + ` ` +
		strconv.Itoa(w.done) + `","object":{"peer_id":1,"text":"` + w.name + `"}}`
	for ctx.Err() == nil {
		r, err := w.caller.Do("POST", "/vk/callback", body)
		switch {
		case err == nil && r.Status == http.StatusOK && r.Body == "ok":
			w.done++
			return
		case err == nil && r.Status != http.StatusServiceUnavailable:
			s.breaks("POST /vk/callback answers %d %s", r.Status, r.Body)
			return
		}
		pause(ctx, writerPace)
	}
}

// goesOn makes a short pause, and reports whether neither the drill nor its faults are over.
func goesOn(ctx context.Context, over <-chan struct{}) bool {
	pause(ctx, writerPace)
	select {
	case <-over:
		return false
	default:
		return ctx.Err() == nil
	}
}
