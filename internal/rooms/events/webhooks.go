package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/webhook"
	"flashsale/redisx/pipeline"
)

const lettersMax = 1000 // of a list; the rest follows when some of these were taken

// Errors of Webhooks.
var (
	ErrNoWebhook = errors.New("there is no such webhook")
	ErrNoLetter  = errors.New("there is no such dead letter")
	ErrRefused   = errors.New("the webhook has not taken the event")
)

// Webhooks shows operators how the receivers do.
type Webhooks struct {
	streams   *Streams
	receivers []Receiver
	private   bool
}

// NewWebhooks makes Webhooks. The Streams must run.
func NewWebhooks(s *Streams, receivers []Receiver, private bool) *Webhooks {
	return &Webhooks{s, receivers, private}
}

// State is how a receiver does.
type State struct {
	Name   string    `json:"name"`
	Host   string    `json:"host"`   // of its URL; the rest may be a secret
	Types  []string  `json:"events"` // empty: all
	Off    bool      `json:"off"`    // it has answered 410
	Behind int64     `json:"behind"` // events that it has not got yet
	Oldest time.Time `json:"-"`      // the oldest of them; the zero time for none
	Dead   int64     `json:"dead"`   // letters
}

// asked is what Redis knows of a receiver and a stream.
type asked struct {
	place  [4]string // cursor, passed, from, off
	fields int64     // of the place
	dead   int64
	cut    cut
	length int64
	first  []radix.StreamEntry
}

// List returns all receivers, in the order of the file. What they lack of the sales before counts, too.
// Error: pipeline.ErrUnavailable.
func (w *Webhooks) List() (list []State, err error) {
	streams, err := w.streams.known(SalesMax)
	if err != nil {
		return nil, err
	}
	all := make([]asked, len(w.receivers)*len(streams.list))
	at := func(receiver, stream int) *asked { return &all[receiver*len(streams.list)+stream] }
	err = streams.each(func(x *pipeline.Call, i int) {
		of := streams.list[i]
		for n, r := range w.receivers {
			a := at(n, i)
			x.Command(&radix.Tuple{&a.place[0], &a.place[1], &a.place[2], &a.place[3]}, "HMGET",
				of.placeKey(r.Name), "cursor", "passed", "from", "off")
			x.Command(&a.fields, "HLEN", of.placeKey(r.Name)).Command(&a.dead, "HLEN", of.deadKey(r.Name))
			of.askCut(x, &a.cut)
			x.Command(&a.length, "XLEN", of.key)
		}
	})
	if err != nil {
		return nil, err
	}
	err = streams.each(func(x *pipeline.Call, i int) {
		for n := range w.receivers {
			from := at(n, i).place[2]
			if from == "" {
				from = "-"
			}
			x.Command(&at(n, i).first, "XRANGE", streams.list[i].key, from, "+", "COUNT", "1")
		}
	})
	if err != nil {
		return nil, err
	}
	for n, r := range w.receivers {
		s := State{Name: r.Name, Host: r.host(), Types: append([]string{}, r.Types...)}
		for i := range streams.list {
			if err := s.add(at(n, i)); err != nil {
				return nil, err
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// add adds how the receiver does with one stream.
func (s *State) add(a *asked) error {
	if err := a.cut.parse(); err != nil {
		return err
	}
	s.Off = s.Off || a.place[3] != ""
	s.Dead += a.dead
	var passed int64
	_, _ = fmt.Sscan(a.place[1], &passed) // 0 for a receiver that has got nothing yet
	s.Behind += max(0, a.cut.Count+a.length-max(passed, a.cut.Count))
	for _, field := range a.place {
		if field != "" {
			a.fields--
		}
	}
	s.Behind += max(0, a.fields) // that are tried again
	if len(a.first) > 0 {
		if first := time.UnixMilli(int64(a.first[0].ID.Time)); s.Oldest.IsZero() || first.Before(s.Oldest) {
			s.Oldest = first
		}
	}
	return nil
}

// find returns the receiver with the name.
func (w *Webhooks) find(name string) (*Receiver, error) {
	i := slices.IndexFunc(w.receivers, func(r Receiver) bool { return r.Name == name })
	if i < 0 {
		return nil, ErrNoWebhook
	}
	return &w.receivers[i], nil
}

// Dead returns the dead letters of a receiver, also of the sales before, the oldest first, and lettersMax at
// most. Errors: ErrNoWebhook, pipeline.ErrUnavailable.
func (w *Webhooks) Dead(name string) (letters []json.RawMessage, err error) {
	if _, err := w.find(name); err != nil {
		return nil, err
	}
	streams, err := w.streams.known(SalesMax)
	if err != nil {
		return nil, err
	}
	found := make([]map[string]string, len(streams.list))
	err = streams.each(func(x *pipeline.Call, i int) {
		x.Command(&found[i], "HGETALL", streams.list[i].deadKey(name))
	})
	if err != nil {
		return nil, err
	}
	type dated struct {
		id   radix.StreamEntryID
		text string
	}
	var all []dated
	for _, texts := range found {
		for entry, text := range texts {
			id, _ := parseID(entry)
			all = append(all, dated{id, text})
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return compare(a.id, b.id) })
	for _, one := range all[:min(len(all), lettersMax)] {
		letters = append(letters, json.RawMessage(one.text))
	}
	return letters, nil
}

// Resend posts a dead letter once more, and forgets it when it is taken. Errors: ErrNoWebhook, ErrNoLetter,
// ErrRefused, pipeline.ErrUnavailable.
func (w *Webhooks) Resend(ctx context.Context, name, event string) error {
	r, err := w.find(name)
	if err != nil {
		return err
	}
	streams, err := w.streams.known(SalesMax)
	if err != nil {
		return err
	}
	for _, s := range streams.list {
		entry, found := strings.CutPrefix(event, s.sale+"-"+s.name+"-")
		if !found {
			continue
		}
		var text []byte
		err := s.redis.Do(pipeline.Command(&radix.Maybe{Rcv: &text}, "HGET", s.deadKey(name), entry))
		var l letter
		switch {
		case err != nil:
			return err
		case text == nil:
			return ErrNoLetter
		}
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("cannot read the dead letter %s: %w", event, err)
		}
		hook, err := webhook.New(r.URL, w.private, r.Secrets...)
		if err != nil {
			return err
		}
		defer hook.Close()
		if err := hook.Post(ctx, event, time.Now(), l.Event); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return s.redis.Do(pipeline.Command(nil, "HDEL", s.deadKey(name), entry))
	}
	return ErrNoLetter
}

// SwitchOn makes a receiver that has answered 410 get events again: all since then. Errors: ErrNoWebhook,
// pipeline.ErrUnavailable.
func (w *Webhooks) SwitchOn(name string) error {
	if _, err := w.find(name); err != nil {
		return err
	}
	streams, err := w.streams.known(SalesMax)
	if err != nil {
		return err
	}
	return streams.each(func(x *pipeline.Call, i int) {
		x.Command(nil, "HDEL", streams.list[i].placeKey(name), "off")
	})
}
