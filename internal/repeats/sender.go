package repeats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	ratePerSecond = 20                     // messages.send of one group: VK's limit for all servers
	lease         = 15 * time.Second       // then a reply is sent again: whoever took it has died
	idleWait      = 200 * time.Millisecond // between two looks at an empty queue
	backOffMin    = time.Second
	backOffMax    = 5 * time.Minute
	attemptsMax   = 297 // a day of them, then a reply is thrown away

	// sendingMax is how many replies are on their way at once: VK's limit is reached however slow VK is.
	sendingMax = ratePerSecond * int(vkTimeout/time.Second)
)

// sender sends the replies of the bot. Each leaves the queue in Redis only when VK has taken it or refuses
// it for good, so it survives the end of this process.
type sender struct {
	cfg     Config
	redis   *pipeline.Conn
	vk      *vkClient
	sending sync.WaitGroup
	places  chan struct{}

	failing  atomic.Bool // the last attempt has failed, and VK may take a later one
	failures logpace.Pace
	logged   atomic.Bool // the log has it, and not yet that replies are sent again
}

// randomID is VK's protection from sending twice: the same for every attempt, and on every server. It is
// from 1 to 2^31-1.
func (r *waiting) randomID() int32 {
	sum := sha256.Sum256([]byte(r.event))
	return cmp.Or(int32(binary.BigEndian.Uint32(sum[:4])&0x7fffffff), 1)
}

func newSender(cfg Config, redis *pipeline.Conn, vk VK) *sender {
	return &sender{cfg: cfg, redis: redis, vk: newVKClient(vk), places: make(chan struct{}, sendingMax)}
}

// run sends until ctx ends, and returns when nothing is on its way any more.
func (s *sender) run(ctx context.Context) {
	defer s.sending.Wait()
	for {
		select {
		case s.places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		r, wait := s.take()
		if r == nil {
			<-s.places
			if !pause(ctx, wait) {
				return
			}
			continue
		}
		s.sending.Go(func() {
			defer func() { <-s.places }()
			s.send(ctx, r)
		})
	}
}

// send makes one attempt.
func (s *sender) send(ctx context.Context, r *waiting) {
	err := s.vk.send(ctx, r.peer, r.randomID(), r.count)
	var refused *refusal
	final := errors.As(err, &refused) && refused.final()
	s.failing.Store(err != nil && !final)
	switch {
	case err == nil:
		if s.logged.Swap(false) {
			slog.Info("replies are sent to VK again")
		}
		s.settle(r, "", 0)
	case ctx.Err() != nil: // the server stops: the next one begins with it
		s.settle(r, r.String(), 0)
	case final:
		slog.Info("a reply is thrown away: VK refuses it for good", "peer", r.peer, "event", r.event, "error", err)
		s.settle(r, "", 0)
	case r.attempts+1 >= attemptsMax:
		slog.Warn("a reply is thrown away: it could not be sent for a day", "peer", r.peer, "event", r.event,
			"error", err)
		s.settle(r, "", 0)
	default:
		if n := s.failures.Due(time.Now()); n > 0 {
			slog.Warn("replies cannot be sent to VK; they wait", "attempts", n, "error", err)
			s.logged.Store(true)
		}
		r.attempts++
		s.settle(r, r.String(), backOff(r.attempts))
	}
}

// backOff is the time between an attempt that has failed and the next one.
func backOff(attempts int) time.Duration {
	return min(backOffMin<<min(attempts-1, 20), backOffMax)
}
