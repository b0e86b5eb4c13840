package app

import (
	"context"
	"strconv"

	"flashsale/handlers"
	"flashsale/internal/background"
	"flashsale/internal/config"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/push"
	"flashsale/internal/rooms/repeats"
	"flashsale/internal/rooms/threads"
	"flashsale/redisx/pipeline"
)

// repeatsOfUser is how often a user may send the same text in the window of the repeated messages.
const repeatsOfUser = 30

var threadsRoom = room{name: "threads", keep: (*supervisor).keepThreads, serve: (*worker).serveThreads}

// threadsConfig is the same in all processes of a server.
func threadsConfig(cfg *config.Config, h *handover) threads.Config {
	return threads.Config{Redis: h.Redis.Spread(), Fanout: cfg.ChatFanout, MessagesMax: cfg.ChatMessages,
		AgeMax: cfg.ChatAge, Pace: cfg.RoomPace, Sale: h.Sale}
}

// keepThreads lets the lists of threads follow their messages.
func (s *supervisor) keepThreads(context.Context) (part, error) {
	if !s.cfg.Chat {
		return part{}, nil
	}
	cfg, p := threadsConfig(s.cfg, &s.serving().handover), part{}
	if s.messages != nil {
		kept := archive{s.messages}
		cfg.Archive, p.figures = kept, kept.show
	}
	p.run = threads.NewKeeper(cfg).Run
	return p, nil
}

func (w *worker) serveThreads() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	kept, err := w.archive()
	if err != nil {
		return part{}, err
	}
	cfg := threadsConfig(w.cfg, &w.handover)
	cfg.Archive = kept
	cfg.Exist = func(users []uint32) (bool, error) {
		names, err := w.accounts.Names(users)
		if err != nil {
			return false, err
		}
		for _, user := range users {
			if names[user] == "" {
				return false, &accounts.NoUserError{Text: strconv.FormatUint(uint64(user), 10)}
			}
		}
		return true, nil
	}
	cfg.Blocked = w.accounts.EitherBlocks
	conversation := handlers.Conversation{Threads: threads.New(cfg), Find: w.accounts.Find,
		Pace: w.cfg.RoomPace}
	if w.repeats != nil {
		conversation.Repeated = func(user uint32, text string) (bool, error) {
			return isRepeated(w.repeats, user, text)
		}
	}
	fence := push.NewFence(cfg.Redis)
	conversation.Removed = func(thread string) error {
		newest, err := conversation.Threads.Newest()
		if err != nil {
			return err
		}
		part := pipeline.PartOf(thread)
		return fence.Wait(part, newest[part])
	}
	run := func(ctx context.Context) error {
		background.Beside(fence.Run, func() { _ = conversation.Threads.Run(ctx) }) // it returns nil
		return nil
	}
	return part{run: run, routes: handlers.Threads(conversation)}, nil
}

// isRepeated counts a text of a user, and reports whether the user has sent it too often. Texts of one user
// do not count for another: many people say hello.
func isRepeated(counter *repeats.Counter, user uint32, text string) (bool, error) {
	n, err := counter.Count(strconv.FormatUint(uint64(user), 10) + " writes " + text)
	return n >= repeatsOfUser, err
}
