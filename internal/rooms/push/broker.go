package push

import (
	"errors"
	"slices"

	"github.com/centrifugal/centrifuge"
)

// broker is centrifuge's view of the threads: the history of a channel is the stored thread. It publishes
// nothing itself: what clients get comes from the log, see Server.deliver.
type broker struct{ *Server }

var errNotPublished = errors.New("the broker of the push service does not publish")

func (b broker) RegisterBrokerEventHandler(centrifuge.BrokerEventHandler) error { return nil }

// ReliableDelivery spares centrifuge its own checks of positions: the log brings each message or tells that
// some are missed.
func (b broker) ReliableDelivery() bool { return true }

func (b broker) Subscribe(channels ...string) error {
	b.subscribe(channels, true)
	return nil
}

func (b broker) Unsubscribe(channels ...string) error {
	b.subscribe(channels, false)
	return nil
}

func (b broker) subscribe(channels []string, on bool) {
	for _, name := range channels {
		if c, ok := parseChannel(name); ok && c.thread != "" {
			b.histories.subscribe(c.thread, on)
		}
	}
}

func (b broker) Publish(string, []byte, centrifuge.PublishOptions) (centrifuge.PublishResult, error) {
	return centrifuge.PublishResult{}, errNotPublished
}

func (b broker) PublishJoin(string, *centrifuge.ClientInfo) error  { return nil }
func (b broker) PublishLeave(string, *centrifuge.ClientInfo) error { return nil }
func (b broker) RemoveHistory(string) error                        { return errNotPublished }

// History returns stored messages and the position of the thread.
func (b broker) History(
	name string, opts centrifuge.HistoryOptions,
) ([]*centrifuge.Publication, centrifuge.StreamPosition, error) {
	c, ok := parseChannel(name)
	if !ok || c.thread == "" {
		return nil, centrifuge.StreamPosition{}, centrifuge.ErrorNotAvailable
	}
	v, err := b.page(c.thread, opts.Filter)
	if err != nil {
		return nil, centrifuge.StreamPosition{}, protocolError(err)
	}
	return v.messages, v.StreamPosition, nil
}

// page returns the messages that a filter wants. A filter without a limit is that of a recovery: it gets all
// messages or, beyond recoveryMax bytes, none.
func (s *Server) page(name string, f centrifuge.HistoryFilter) (v view, err error) {
	t := s.histories.get(name)
	top, err := t.top()
	if err != nil || f.Limit == 0 {
		return top, err
	}
	if f.Since != nil && f.Since.Epoch != "" && f.Since.Epoch != top.Epoch {
		return top, nil // centrifuge tells the client
	}
	if f.Limit < 0 {
		v, err := t.after(f.Since.Offset)
		if v.older || bytesOf(v.messages) > recoveryMax {
			v.messages = nil
		}
		return v, err
	}
	begin, end := uint64(0), ^uint64(0) // the messages between
	switch {
	case f.Since != nil && f.Reverse:
		end = f.Since.Offset
		begin = below(min(end, top.Offset+1), uint64(f.Limit)+1)
	case f.Since != nil:
		begin = f.Since.Offset
	case f.Reverse:
		begin = below(top.Offset, uint64(f.Limit))
	}
	if v, err = t.page(begin, f.Limit); err != nil {
		return v, err
	}
	v.messages = slices.DeleteFunc(slices.Clone(v.messages), func(p *centrifuge.Publication) bool {
		return p.Offset >= end
	})
	if f.Reverse {
		slices.Reverse(v.messages)
	}
	return v, nil
}

// below is n less, at least 0.
func below(id, n uint64) uint64 { return id - min(id, n) }

// protocolError is the error of the protocol for an outcome.
func protocolError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDenied):
		return centrifuge.ErrorPermissionDenied
	case errors.Is(err, ErrTooMany):
		return centrifuge.ErrorTooManyRequests
	case errors.Is(err, ErrRefused):
		return &centrifuge.Error{Code: centrifuge.ErrorBadRequest.Code, Message: err.Error()}
	}
	return errAgain
}

// errAgain makes a client try again. It is not centrifuge.ErrorInternal, which would end the connection when
// a subscription meets it.
var errAgain = &centrifuge.Error{Code: centrifuge.ErrorInternal.Code, Message: "internal server error",
	Temporary: true}
