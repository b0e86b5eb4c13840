package push

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/centrifugal/centrifuge"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	retryFirst = 50 * time.Millisecond
	retryMost  = time.Second
	retryQuiet = 4 // failures: a connection takes a moment
)

// follow follows the logs from now on.
func (s *Server) follow(ctx context.Context) error {
	var from Positions
	for failures := 1; ; failures++ {
		var err error
		if from, err = s.cfg.Threads.Now(); err == nil {
			break
		}
		if failures == retryQuiet {
			slog.Warn("the log of the threads cannot be read yet", "error", err)
		}
		if !background.Pause(ctx, background.Delay(failures, retryFirst, retryMost)) {
			return nil
		}
	}
	for part, position := range from {
		s.registry.ended(part, position) // this server has no subscriptions from before
	}
	s.following.Store(true)
	return s.cfg.Threads.Tail(ctx, from, func(e Entry) {
		s.deliver(ctx, &e)
		s.registry.took(e.Part, e.Position)
	})
}

// deliver takes a line of the log.
func (s *Server) deliver(ctx context.Context, e *Entry) {
	switch e.What {
	case Stored:
		s.deliverMessage(ctx, e)
		return
	case Missed:
		s.deliverMissed(ctx, e.Part)
		return
	case Joined:
		if !e.Large {
			s.audience.change(e.User, e.Thread, true)
		}
	case Left:
		s.remove(e)
		defer s.audience.change(e.User, e.Thread, false) // the user hears of it too
	case Ended:
		s.endThread(e.Thread)
	case Erased:
		if t := s.histories.find(e.Thread); t != nil {
			t.erase()
		}
	}
	event := threadEvent(e)
	s.send(threadPrefix+e.Thread, &centrifuge.Publication{Data: event}, "")
	if !e.Large {
		s.tell(e.Thread, event)
	}
	if e.What == Left {
		s.registry.ended(e.Part, e.Position)
	}
}

// deliverMessage sends a stored message to its channel and to the connected members.
func (s *Server) deliverMessage(ctx context.Context, e *Entry) {
	t, hearers := s.histories.find(e.Thread), []uint32(nil)
	if !e.Large {
		hearers = s.audience.hearers(e.Thread)
	}
	if t == nil && len(hearers) == 0 {
		return
	}
	pub := publicationOf(&e.Message)
	if t != nil {
		switch what, epoch := t.deliver(pub); what {
		case send:
			s.send(threadPrefix+e.Thread, pub, epoch)
		case catch:
			s.catchUp(ctx, t)
		}
	}
	if len(hearers) > 0 {
		event := &centrifuge.Publication{Data: messageEvent(pub.Data)}
		for _, user := range hearers {
			s.send(userChannel(user), event, "")
		}
	}
	s.cfg.Figures.PushLag.Observe(lag(&e.Message, s.cfg.Now()))
}

// catchUp reads from the store what the subscribers of a thread have missed. If that is gone, they are told
// that they must recover.
func (s *Server) catchUp(ctx context.Context, t *thread) {
	for failures := 1; ; failures++ {
		v, missing, err := t.catchUp()
		if err == nil {
			if missing {
				v.messages = []*centrifuge.Publication{{Offset: math.MaxUint64}}
			}
			for _, pub := range v.messages {
				s.send(threadPrefix+t.name, pub, v.Epoch)
			}
			return
		}
		if !background.Pause(ctx, background.Delay(failures, retryFirst, retryMost)) {
			return
		}
	}
}

// deliverMissed catches up with all threads of a part after lines of its log were lost.
func (s *Server) deliverMissed(ctx context.Context, part int) {
	slog.Warn("lines of the log of the threads were lost here: the subscribed threads are read again",
		"part", part)
	for _, t := range s.histories.list() {
		if pipeline.PartOf(t.name) == part {
			t.stale()
			s.catchUp(ctx, t)
		}
	}
}

// tell sends an event to the connected members of a thread.
func (s *Server) tell(thread string, event []byte) {
	for _, user := range s.audience.hearers(thread) {
		s.send(userChannel(user), &centrifuge.Publication{Data: event}, "")
	}
}

// send sends a publication to the subscribers of a channel who are connected here.
func (s *Server) send(channel string, pub *centrifuge.Publication, epoch string) {
	if s.node.Hub().NumSubscribers(channel) == 0 {
		return
	}
	s.cfg.Figures.PushPublishes.Inc()
	position := centrifuge.StreamPosition{Offset: pub.Offset, Epoch: epoch}
	if err := s.node.HandlePublication(channel, pub, position, false, nil); err != nil {
		slog.Error("cannot deliver a publication", "channel", channel, "error", err)
	}
}

// remove ends the subscriptions of a user who is no longer a member.
func (s *Server) remove(e *Entry) {
	for _, client := range s.node.Hub().UserConnections(userName(e.User)) {
		client.Unsubscribe(threadPrefix+e.Thread, unsubscribeRemoved)
	}
}

// endThread ends all subscriptions to a thread that is gone.
func (s *Server) endThread(thread string) {
	if s.node.Hub().NumSubscribers(threadPrefix+thread) == 0 {
		return
	}
	for _, client := range s.node.Hub().Connections() {
		if client.IsSubscribed(threadPrefix + thread) {
			client.Unsubscribe(threadPrefix+thread, unsubscribeRemoved)
		}
	}
}

// unsubscribeRemoved tells a client that it lost the right: it does not subscribe again by itself.
var unsubscribeRemoved = centrifuge.Unsubscribe{
	Code: centrifuge.UnsubscribeCodeServer, Reason: "no longer a member",
}
