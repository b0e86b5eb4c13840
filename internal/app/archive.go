package app

import (
	"context"
	"errors"

	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/ledger"
	"flashsale/internal/rooms/threads"
)

// archive is the ledger's database as the threads want it: it has the messages that Redis has no more.
type archive struct{ *ledger.Messages }

// ledgerSecret is what the processes that read old messages get of the ledger: no environment has it.
type ledgerSecret struct{ Database string } // a data source name, "" for none

// archive is that of a process that serves threads, nil without a ledger. It connects when it is asked.
func (h *handover) archive() (threads.Archive, error) {
	var secret ledgerSecret
	if err := h.take("ledger", &secret); err != nil || secret.Database == "" {
		return nil, err
	}
	messages, err := ledger.NewMessages(secret.Database)
	return archive{messages}, err
}

// Store writes messages of a thread.
func (a archive) Store(thread, epoch string, list []threads.Message) error {
	return a.Messages.Store(thread, epoch, rowsOf(list))
}

func rowsOf(list []threads.Message) []ledger.Message {
	rows := make([]ledger.Message, len(list))
	for i, m := range list {
		rows[i] = ledger.Message{ID: m.ID, User: m.User, Content: m.Content, Created: m.Created,
			Removed: m.Removed}
	}
	return rows
}

// Load reads messages of a thread.
func (a archive) Load(thread, epoch string, from, to int64) ([]threads.Message, error) {
	rows, err := a.Messages.Load(thread, epoch, from, to)
	list := make([]threads.Message, len(rows))
	for i, m := range rows {
		list[i] = threads.Message{ID: m.ID, Thread: thread, User: m.User, Content: m.Content, Created: m.Created,
			Removed: m.Removed}
	}
	return list, err
}

func (a archive) show(scrape *ops.Scrape) {
	scrape.Set(figures.MessagesStored, float64(a.Stored()))
	scrape.Set(figures.MessagesWaiting, a.Waiting().Seconds())
}

// messageSource is what the audit compares the database with.
type messageSource struct{ *threads.Threads }

// Survey calls visit with every thread.
func (s messageSource) Survey(ctx context.Context, visit func(ledger.Place)) error {
	return s.Threads.Survey(ctx, func(p threads.Place) { visit(ledger.Place(p)) })
}

// Look calls visit with a thread, if there is one.
func (s messageSource) Look(thread string, visit func(ledger.Place)) error {
	return s.Threads.Look(thread, func(p threads.Place) { visit(ledger.Place(p)) })
}

// Read returns messages that Redis has.
func (s messageSource) Read(thread string, from int64, limit int) ([]ledger.Message, error) {
	past, err := s.History(thread, from-1, limit)
	if errors.Is(err, threads.ErrNoThread) {
		err = nil
	}
	return rowsOf(past.Messages), err
}
