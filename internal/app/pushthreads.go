package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/push"
	"flashsale/internal/rooms/threads"
	"flashsale/redisx/pipeline"
)

// The threads as the push service wants them: a pusher is its push.Threads.

// Post stores a message under the same limits as POST /threads/:id/messages.
func (w *pusher) Post(thread string, by uint32, clientID, content string) (push.Message, error) {
	if w.limits != nil {
		who := limits.Who{ID: by}
		if _, refused := w.limits.Refused(limits.Message, who, time.Now()); refused {
			return push.Message{}, push.ErrTooMany
		}
		if limited, _ := w.limits.Limits(limits.Message); limited {
			w.limits.Record(limits.Message, who, 1)
		}
	}
	if w.repeats != nil && len(content) <= threads.ContentMax {
		if often, err := isRepeated(w.repeats, by, content); err == nil && often { // that room may be away
			return push.Message{}, fmt.Errorf("%w: the same text too often", push.ErrRefused)
		}
	}
	m, err := w.threads.Post(thread, by, clientID, content)
	return pushedMessage(m), pushedError(err)
}

// History returns messages of a thread.
func (w *pusher) History(thread string, after uint64, limit int) (push.History, error) {
	past, err := w.threads.History(thread, int64(after), limit)
	h := push.History{Epoch: past.Epoch, Last: uint64(past.Last)}
	for _, m := range past.Messages {
		h.Messages = append(h.Messages, pushedMessage(m))
	}
	return h, pushedError(err)
}

// MayRead makes the room of the sale when it is asked for: everybody may read it.
func (w *pusher) MayRead(thread string, user uint32) (bool, error) {
	may, err := w.threads.MayRead(thread, user)
	if err == nil && !may && thread == threads.RoomID(w.Sale) {
		_, err = w.threads.ShowRoom(w.Sale)
		may = err == nil
	}
	return may, err
}

// Of returns the threads of a user that are not large.
func (w *pusher) Of(user uint32) ([]string, error) { return w.threads.Listed(user) }

// Members returns the members of a thread.
func (w *pusher) Members(thread string) (map[uint32]bool, error) { return w.threads.Readers(thread) }

// Now returns the positions of the newest lines of the logs.
func (w *pusher) Now() (push.Positions, error) {
	p, err := w.threads.Newest()
	return push.Positions(p), err
}

// Tail follows the logs.
func (w *pusher) Tail(ctx context.Context, from push.Positions, do func(push.Entry)) error {
	return w.threads.Tail(ctx, threads.Positions(from), func(e threads.Entry) {
		do(push.Entry{Part: e.Part, Position: e.Position, What: push.What(e.Event), Thread: e.Thread,
			Large: e.Large, User: e.User, Message: pushedMessage(e.Message)})
	})
}

func pushedMessage(m threads.Message) push.Message {
	return push.Message{ID: uint64(m.ID), Thread: m.Thread, User: m.User, Content: m.Content,
		Created: m.Created, Erased: m.Removed}
}

// pushedError is the outcome of the push service for one of the threads.
func pushedError(err error) error {
	switch {
	case err == nil, errors.Is(err, pipeline.ErrUnavailable):
		return err
	case errors.Is(err, threads.ErrNoThread), errors.Is(err, threads.ErrNotMember),
		errors.Is(err, threads.ErrMuted), errors.Is(err, threads.ErrBlocked):
		return push.ErrDenied
	case errors.Is(err, threads.ErrPace):
		return push.ErrTooMany
	}
	return fmt.Errorf("%w: %w", push.ErrRefused, err)
}
