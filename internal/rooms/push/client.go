package push

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/centrifugal/protocol"
)

// disconnectIdle asks a client to go on by polling: it does not connect again by itself.
var disconnectIdle = centrifuge.Disconnect{Code: 4500, Reason: "idle: poll GET /threads"}

// session is what this server keeps of a connection besides centrifuge.
type session struct {
	user   uint32
	shown  atomic.Pointer[pass] // of the last ticket
	active atomic.Int64         // Unix seconds of the last command or message
	beats  pace
	reads  pace // commands that read the store

	position *centrifuge.StreamPosition // from which the subscription under way recovers; nil: it does not
	recovers atomic.Bool                // with a place, see beginRecovery
	left     atomic.Bool                // a subscription has ended, see drain
	drained  chan struct{}
}

// pass is what a ticket says.
type pass struct {
	user, session uint32
	made          time.Time
}

type sessionKey struct{}

// sessionOf returns the session of a client, nil before it is connected.
func sessionOf(c *centrifuge.Client) *session {
	found, _ := c.Context().Value(sessionKey{}).(*session)
	return found
}

// handle sets the handlers of centrifuge.
func (s *Server) handle() {
	s.node.OnConnecting(s.connecting)
	s.node.OnConnect(s.connected)
	s.node.OnCommandRead(s.readCommand)
	s.node.OnCommandProcessed(s.processed)
	s.node.OnTransportWrite(s.written)
}

// connecting lets a client with a ticket in.
func (s *Server) connecting(
	ctx context.Context, e centrifuge.ConnectEvent,
) (centrifuge.ConnectReply, error) {
	if e.Transport.Protocol() != centrifuge.ProtocolTypeJSON {
		return centrifuge.ConnectReply{}, centrifuge.DisconnectInappropriateProtocol
	}
	shown, err := s.admit(e.Token)
	if err != nil {
		return centrifuge.ConnectReply{}, err
	}
	own := &session{user: shown.user, drained: make(chan struct{}, 1)}
	own.shown.Store(&shown)
	own.touch(s.cfg.Now())
	return centrifuge.ConnectReply{
		Context: context.WithValue(ctx, sessionKey{}, own),
		Credentials: &centrifuge.Credentials{UserID: userName(own.user),
			ExpireAt: s.cfg.Now().Add(connectionLife).Unix()},
		ClientSideRefresh: true,
		// Recovered threads may be longer than queueMax: a reply waits until the client reads, not in the queue.
		ReplyWithoutQueue: true,
		Subscriptions:     map[string]centrifuge.SubscribeOptions{userChannel(own.user): {}},
	}, nil
}

// admit reads a ticket.
func (s *Server) admit(text string) (shown pass, err error) {
	user, session, expires, ok := s.cfg.Ticket([]byte(text))
	shown = pass{user, session, time.Unix(expires, 0).Add(-TicketLife)}
	switch {
	case !ok || s.ended(shown, 0):
		return shown, centrifuge.DisconnectInvalidToken
	case s.cfg.Now().Unix() >= expires, s.ended(shown, endedLag):
		return shown, centrifuge.ErrorTokenExpired
	}
	return shown, nil
}

// ended reports whether the session of a ticket that was made so much earlier has ended.
func (s *Server) ended(shown pass, earlier time.Duration) bool {
	return s.cfg.Ended != nil && s.cfg.Ended(shown.user, shown.session, shown.made.Add(-earlier))
}

// closeEnded ends the connections of sessions that have ended.
func (s *Server) closeEnded() {
	for _, c := range s.node.Hub().Connections() {
		own := sessionOf(c)
		if own == nil {
			continue
		}
		switch shown := *own.shown.Load(); {
		case s.ended(shown, 0):
			c.Disconnect(centrifuge.DisconnectInvalidToken)
		case s.ended(shown, endedLag):
			c.Disconnect(centrifuge.DisconnectExpired) // it comes back with another ticket, if it gets one
		}
	}
}

// connected sets the handlers of a connection.
func (s *Server) connected(c *centrifuge.Client) {
	own := sessionOf(c)
	s.cfg.Figures.Pushed.Set(int64(s.node.Hub().NumClients()))
	s.enter(c, own.user)
	c.OnSubscribe(func(e centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
		options, err := s.subscribing(c, own, e.Channel)
		reply(centrifuge.SubscribeReply{Options: options}, err)
	})
	c.OnUnsubscribe(func(e centrifuge.UnsubscribeEvent) {
		own.left.Store(true)
		s.noteHere(e.Channel)
	})
	c.OnPublish(func(e centrifuge.PublishEvent, reply centrifuge.PublishCallback) {
		position, err := s.publish(own.user, e.Channel, e.Data)
		reply(centrifuge.PublishReply{Result: &centrifuge.PublishResult{StreamPosition: position}}, err)
	})
	c.OnHistory(func(e centrifuge.HistoryEvent, reply centrifuge.HistoryCallback) {
		found, err := s.history(own.user, e)
		reply(centrifuge.HistoryReply{Result: &found}, err)
	})
	c.OnPresence(func(e centrifuge.PresenceEvent, reply centrifuge.PresenceCallback) {
		found, err := s.presence(own.user, e.Channel)
		reply(centrifuge.PresenceReply{Result: &found}, err)
	})
	c.OnPresenceStats(func(e centrifuge.PresenceStatsEvent, reply centrifuge.PresenceStatsCallback) {
		found, err := s.presenceStats(own.user, e.Channel)
		reply(centrifuge.PresenceStatsReply{Result: &found}, err)
	})
	c.OnRPC(func(e centrifuge.RPCEvent, reply centrifuge.RPCCallback) {
		data, err := s.call(own, e)
		reply(centrifuge.RPCReply{Data: data}, err)
	})
	c.OnRefresh(func(e centrifuge.RefreshEvent, reply centrifuge.RefreshCallback) {
		reply(s.refresh(own, e.Token))
	})
	c.OnDisconnect(func(e centrifuge.DisconnectEvent) {
		if e.Code == centrifuge.DisconnectSlow.Code {
			s.cfg.Figures.PushDropped.Inc()
		}
		s.endRecovery(own)
		s.cfg.Figures.Pushed.Set(int64(s.node.Hub().NumClients()))
		if s.audience.leave(own.user) {
			s.registry.left(own.user)
		}
	})
}

// enter notes a connected user. Without the user's groups it would get no updates, so the client connects
// again.
func (s *Server) enter(c *centrifuge.Client, user uint32) {
	first, err := s.audience.enter(user)
	if err != nil {
		c.Disconnect(centrifuge.DisconnectServerError)
		return
	}
	if first {
		s.registry.came(user)
	}
}

// refresh extends a connection.
func (s *Server) refresh(own *session, text string) (centrifuge.RefreshReply, error) {
	switch shown, err := s.admit(text); {
	case err == centrifuge.ErrorTokenExpired: //nolint:errorlint // it is returned as it is
		return centrifuge.RefreshReply{Expired: true}, nil
	case err != nil:
		return centrifuge.RefreshReply{}, err
	case shown.user != own.user:
		return centrifuge.RefreshReply{}, centrifuge.DisconnectInvalidToken
	default:
		own.shown.Store(&shown)
	}
	return centrifuge.RefreshReply{ExpireAt: s.cfg.Now().Add(connectionLife).Unix()}, nil
}

// written counts what goes out to a client.
func (s *Server) written(c *centrifuge.Client, e centrifuge.TransportWriteEvent) bool {
	own := sessionOf(c)
	if own == nil {
		return true
	}
	switch e.FrameType {
	case protocol.FrameTypePushMessage: // the mark of drain; there are no other ones
		own.drained <- struct{}{}
		return false
	case protocol.FrameTypePushPublication:
		s.cfg.Figures.PushDeliveries.Inc()
		own.touch(s.cfg.Now())
	}
	return true
}

// drain returns once everything that waits for a client is sent. A reply does not wait in the queue: without
// this, a subscription that begins anew would get what was sent for the one before.
func (s *Server) drain(c *centrifuge.Client, own *session) {
	if !own.left.Swap(false) {
		return
	}
	for range 2 { // what the writer took together with the first mark is sent when it takes the second one
		if c.Send(drainMark) != nil {
			return
		}
		select {
		case <-own.drained:
		case <-c.Context().Done():
			return
		}
	}
}

var drainMark = []byte("{}")

// closeIdle asks the clients without activity to go on by polling.
func (s *Server) closeIdle() {
	now := s.cfg.Now()
	for _, c := range s.node.Hub().Connections() {
		if own := sessionOf(c); own != nil && own.idle(now) > s.cfg.Idle {
			c.Disconnect(disconnectIdle)
		}
	}
}

func (own *session) touch(now time.Time) { own.active.Store(now.Unix()) }

func (own *session) idle(now time.Time) time.Duration {
	return time.Duration(now.Unix()-own.active.Load()) * time.Second
}
