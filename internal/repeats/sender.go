package repeats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	ratePerSecond = 20                     // messages.send of one group: VK's limit for all servers
	sendingMax    = 20                     // replies on their way at once, so that a slow one delays no other
	lease         = 15 * time.Second       // then a reply is sent again: whoever took it has died
	idleWait      = 200 * time.Millisecond // between two looks at an empty queue
	backOffMin    = time.Second
	backOffMax    = 5 * time.Minute
	attemptsMax   = 1 << 20 // counted; there is no last one
)

// sender sends the replies of the bot. Each leaves the queue in Redis only when VK has taken it or refuses
// it for good, so it survives the end of this process.
type sender struct {
	cfg     Config
	redis   *pipeline.Conn
	vk      *vkClient
	sending sync.WaitGroup
	places  chan struct{}

	failures logpace.Pace
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
	switch {
	case err == nil:
		s.settle(r, "", 0)
	case ctx.Err() != nil: // the server stops: the next one begins with it
		s.settle(r, r.String(), 0)
	case errors.As(err, &refused) && refused.final():
		slog.Error("VK refuses a reply for good; it is thrown away", "error", err)
		s.settle(r, "", 0)
	default:
		if n := s.failures.Due(time.Now()); n > 0 {
			slog.Warn("replies cannot be sent to VK; they wait", "attempts", n, "error", err)
		}
		r.attempts = min(r.attempts+1, attemptsMax)
		s.settle(r, r.String(), backOff(r.attempts))
	}
}

// backOff is the time between an attempt that has failed and the next one.
func backOff(attempts int) time.Duration {
	return min(backOffMin<<min(attempts-1, 20), backOffMax)
}
