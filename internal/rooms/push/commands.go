package push

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
)

// right returns the thread of a channel that a user may read.
func (s *Server) right(user uint32, name string) (thread string, err error) {
	c, ok := parseChannel(name)
	switch {
	case !ok:
		return "", centrifuge.ErrorUnknownChannel
	case c.user != 0 && c.user != user:
		return "", centrifuge.ErrorPermissionDenied
	case c.thread == "":
		return "", nil
	}
	may, err := s.cfg.Threads.MayRead(c.thread, user)
	if err == nil && !may {
		err = ErrDenied
	}
	return c.thread, protocolError(err)
}

// threadOf is right for calls that only threads have.
func (s *Server) threadOf(user uint32, name string) (string, error) {
	thread, err := s.right(user, name)
	if err == nil && thread == "" {
		err = centrifuge.ErrorNotAvailable
	}
	return thread, err
}

// subscribing lets a client subscribe to a channel that its user may read.
func (s *Server) subscribing(
	c *centrifuge.Client, own *session, name string,
) (centrifuge.SubscribeOptions, error) {
	thread, err := s.right(own.user, name)
	if err != nil {
		return centrifuge.SubscribeOptions{}, err
	}
	s.drain(c, own)
	if thread == "" {
		return centrifuge.SubscribeOptions{}, nil
	}
	if err := s.beginRecovery(c, own, thread); err != nil {
		return centrifuge.SubscribeOptions{}, err
	}
	return centrifuge.SubscribeOptions{EnablePositioning: true, EnableRecovery: true, EmitPresence: true}, nil
}

// posted is what a client publishes: {"content":"...","id":"..."} or only a text.
type posted struct {
	Content *string `json:"content"`
	ID      string  `json:"id"` // of the client, see Threads.Post
}

// publish stores a message. The publication comes from the log, as for all others.
func (s *Server) publish(user uint32, name string, data []byte) (at centrifuge.StreamPosition, err error) {
	c, ok := parseChannel(name)
	if !ok {
		return at, centrifuge.ErrorUnknownChannel
	}
	if c.thread == "" {
		return at, centrifuge.ErrorPermissionDenied
	}
	var p posted
	if text := ""; json.Unmarshal(data, &text) == nil {
		p.Content = &text
	} else if err := json.Unmarshal(data, &p); err != nil || p.Content == nil {
		return at, centrifuge.ErrorBadRequest
	}
	m, err := s.cfg.Threads.Post(c.thread, user, p.ID, *p.Content)
	return centrifuge.StreamPosition{Offset: m.ID}, protocolError(err)
}

func (s *Server) history(user uint32, e centrifuge.HistoryEvent) (centrifuge.HistoryResult, error) {
	if _, err := s.threadOf(user, e.Channel); err != nil {
		return centrifuge.HistoryResult{}, err
	}
	return s.node.History(e.Channel, centrifuge.WithHistoryFilter(e.Filter))
}

// call answers an RPC.
func (s *Server) call(own *session, e centrifuge.RPCEvent) ([]byte, error) {
	if e.Method != presenceMethod || s.cfg.Heartbeat == nil {
		return nil, centrifuge.ErrorMethodNotFound
	}
	if !own.beats.take(s.cfg.Now(), beatPace, beatsBurst) {
		return nil, centrifuge.ErrorTooManyRequests
	}
	reply, err := s.cfg.Heartbeat(own.user, e.Data)
	return reply, protocolError(err)
}

const presenceMethod = "presence"

// readCommand refuses what this server does not have and what comes too fast, and notes activity.
func (s *Server) readCommand(c *centrifuge.Client, e centrifuge.CommandReadEvent) error {
	command, own := e.Command, sessionOf(c)
	if sub := command.Subscribe; sub != nil && (sub.Delta != "" || sub.Type != 0) {
		return centrifuge.ErrorNotAvailable
	}
	if pub := command.Publish; pub != nil && pub.Type != 0 {
		return centrifuge.ErrorNotAvailable
	}
	if own == nil {
		return nil
	}
	if command.Rpc == nil || command.Rpc.Method != presenceMethod {
		own.touch(s.cfg.Now())
	}
	reads := command.Subscribe != nil || command.History != nil || command.Presence != nil ||
		command.PresenceStats != nil
	if reads && !own.reads.take(s.cfg.Now(), readPace, readsBurst) {
		return centrifuge.ErrorTooManyRequests
	}
	if own.position = nil; command.Subscribe != nil && command.Subscribe.Recover {
		sub := command.Subscribe
		own.position = &centrifuge.StreamPosition{Offset: sub.Offset, Epoch: sub.Epoch}
	}
	return nil
}

// pace is how fast the commands of a connection may come. They come one after another.
type pace struct{ next atomic.Int64 }

// take takes one of the share: one each time, after the first burst.
func (p *pace) take(now time.Time, each time.Duration, burst int64) bool {
	next := max(p.next.Load(), now.Add(-time.Duration(burst)*each).UnixNano()) + int64(each)
	if next > now.UnixNano() {
		return false
	}
	p.next.Store(next)
	return true
}

// processed notes subscriptions.
func (s *Server) processed(c *centrifuge.Client, e centrifuge.CommandProcessedEvent) {
	if own := sessionOf(c); own != nil {
		s.endRecovery(own)
	}
	if e.Command.Subscribe == nil || e.Reply == nil || e.Reply.Subscribe == nil {
		return
	}
	switch done := e.Reply.Subscribe; {
	case done.Recovered:
		s.cfg.Figures.PushRecovered.Inc()
	case done.WasRecovering:
		s.cfg.Figures.PushUnrecovered.Inc()
	}
	s.noteHere(e.Command.Subscribe.Channel)
}

// noteHere notes that the subscribers of a channel have changed.
func (s *Server) noteHere(name string) {
	if c, ok := parseChannel(name); ok && c.thread != "" {
		s.registry.changed(c.thread)
	}
}
