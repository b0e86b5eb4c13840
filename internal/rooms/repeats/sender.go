package repeats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	ratePerSecond = 20                     // messages.send of each group: VK's limit for all servers
	lease         = 15 * time.Second       // then a reply is sent again: the server that took it has died
	idleWait      = 200 * time.Millisecond // between two checks of an empty queue
	retryMin      = time.Second            // between an attempt that has failed and the next one, for the first
	retryMax      = 5 * time.Minute        // the longest such pause
	attemptsMax   = 297                    // in about a day, then a reply is thrown away

	tokenRetry  = 5 * time.Minute // between two attempts with a token that VK refuses
	refusedMark = 2 * tokenRetry  // the life of queueKeys.refused

	// sendingMax is how many replies are on their way at once: enough for VK's limit, however slow VK is.
	sendingMax = ratePerSecond * int(vkTimeout/time.Second)
)

// sender sends the replies of one group. A reply leaves the queue in Redis only when VK has taken it or
// refuses it for good, so it survives the end of this process.
type sender struct {
	cfg      Config
	redis    *pipeline.Conn
	vk       *vkClient
	group    Group
	queue    queueKeys
	sending  sync.WaitGroup
	inFlight chan struct{} // holds an element for each reply on its way

	failing  atomic.Bool // the last attempt has failed, and VK may take a later one
	failures logpace.Pace
	logged   atomic.Bool // the log has the fault, and its end is not logged yet
	refused  atomic.Bool // VK refuses the token
}

// randomID is VK's protection from sending twice: the same for every attempt, and on every server. It is
// from 1 to 2^31-1.
func (r *waiting) randomID() int32 {
	sum := sha256.Sum256([]byte(r.event))
	return cmp.Or(int32(binary.BigEndian.Uint32(sum[:4])&0x7fffffff), 1)
}

func newSender(cfg Config, redis *pipeline.Conn, vk *vkClient, group Group) *sender {
	return &sender{cfg: cfg, redis: redis, vk: vk, group: group, queue: queueOf(group.ID),
		inFlight: make(chan struct{}, sendingMax)}
}

// run sends until ctx ends, and returns when nothing is on its way any more. While VK refuses the token, it
// makes one attempt from time to time.
func (s *sender) run(ctx context.Context) {
	defer s.sending.Wait()
	for {
		if s.refused.Load() && !background.Pause(ctx, tokenRetry) {
			return
		}
		select {
		case s.inFlight <- struct{}{}:
		case <-ctx.Done():
			return
		}
		r, wait := s.take()
		switch {
		case r == nil:
			<-s.inFlight
			if !background.Pause(ctx, wait) {
				return
			}
		case s.refused.Load():
			s.send(ctx, r)
			<-s.inFlight
		default:
			s.sending.Go(func() {
				defer func() { <-s.inFlight }()
				s.send(ctx, r)
			})
		}
	}
}

// send makes one attempt.
func (s *sender) send(ctx context.Context, r *waiting) {
	err := s.vk.send(ctx, s.group.Token, r.peer, r.randomID(), r.text())
	log := slog.With("group", s.group.ID)
	var refused *refusal
	answered := errors.As(err, &refused)
	ofToken, final := answered && refused.ofToken(), answered && refused.final()
	s.failing.Store(err != nil && !ofToken && !final)
	switch {
	case err == nil:
		wasRefused := s.refused.Swap(false)
		if s.logged.Swap(false) || wasRefused {
			log.Info("replies are sent to VK again")
		}
		s.settle(r, "", 0)
	case ctx.Err() != nil: // the server stops, or has new groups: the next sender begins with it
		s.settle(r, r.String(), 0)
	case ofToken:
		s.park(r, err)
	case final:
		log.Info("a reply is thrown away: VK refuses it for good", "peer", r.peer, "event", r.event, "error", err)
		s.settle(r, "", 0)
	case r.attempts+1 >= attemptsMax:
		log.Warn("a reply is thrown away: it could not be sent for a day", "peer", r.peer, "event", r.event,
			"error", err)
		s.settle(r, "", 0)
	default:
		if n := s.failures.Due(time.Now()); n > 0 {
			log.Warn("replies cannot be sent to VK; they wait", "attempts", n, "error", err)
			s.logged.Store(true)
		}
		r.attempts++
		s.settle(r, r.String(), background.Delay(r.attempts, retryMin, retryMax))
	}
}

// park puts a reply back, because VK refuses the token. Other servers may have another token. The mark in
// Redis bounds how many replies wait from now on; it ends by itself.
func (s *sender) park(r *waiting, err error) {
	if !s.refused.Swap(true) {
		slog.Error("VK refuses the token of a group: make a new one in the group's settings; put it into "+
			"-vk-groups and send SIGHUP, or into -vk-token and restart; the replies of other groups go on",
			"group", s.group.ID, "replies_max", min(s.cfg.RepliesMax, parkedMax), "error", err)
	}
	s.settle(r, r.String(), 0)
	seconds := strconv.Itoa(int(refusedMark / time.Second))
	_ = s.redis.Do(pipeline.Command(nil, "SET", s.queue.refused, "1", "EX", seconds)) // its log has the error
}
