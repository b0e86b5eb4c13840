package push

import (
	"context"
	"encoding/json"
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
	since  atomic.Int64 // when the last ticket was made, Unix seconds
	active atomic.Int64 // Unix seconds of the last command or message
	beat   atomic.Int64 // of the share of heartbeats, see mayBeat
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
	user, made, err := s.admit(e.Token)
	if err != nil {
		return centrifuge.ConnectReply{}, err
	}
	own := &session{user: user}
	own.since.Store(made.Unix())
	own.touch(s.cfg.Now())
	return centrifuge.ConnectReply{
		Context: context.WithValue(ctx, sessionKey{}, own),
		Credentials: &centrifuge.Credentials{UserID: userName(user),
			ExpireAt: s.cfg.Now().Add(connectionLife).Unix()},
		ClientSideRefresh: true,
		// A recovered thread may be longer than queueMax: replies do not wait in the queue.
		ReplyWithoutQueue: true,
		Subscriptions:     map[string]centrifuge.SubscribeOptions{userChannel(user): {}},
	}, nil
}

// admit returns the user of a ticket and when it was made.
func (s *Server) admit(ticket string) (user uint32, made time.Time, err error) {
	user, expires, ok := s.cfg.Ticket([]byte(ticket))
	made = time.Unix(expires, 0).Add(-TicketLife)
	switch {
	case !ok || s.cfg.Ended != nil && s.cfg.Ended(user, made):
		return 0, made, centrifuge.DisconnectInvalidToken
	case s.cfg.Now().Unix() >= expires, s.cfg.Ended != nil && s.cfg.Ended(user, made.Add(-endedLag)):
		return 0, made, centrifuge.ErrorTokenExpired
	}
	return user, made, nil
}

// closeEnded ends the connections of users who have logged out everywhere.
func (s *Server) closeEnded() {
	for _, c := range s.node.Hub().Connections() {
		own := sessionOf(c)
		if own == nil {
			continue
		}
		switch since := time.Unix(own.since.Load(), 0); {
		case s.cfg.Ended(own.user, since):
			c.Disconnect(centrifuge.DisconnectInvalidToken)
		case s.cfg.Ended(own.user, since.Add(-endedLag)):
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
		options, err := s.subscribing(own.user, e.Channel)
		reply(centrifuge.SubscribeReply{Options: options}, err)
	})
	c.OnUnsubscribe(func(e centrifuge.UnsubscribeEvent) { s.noteHere(e.Channel) })
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
func (s *Server) refresh(own *session, ticket string) (centrifuge.RefreshReply, error) {
	switch other, made, err := s.admit(ticket); {
	case err == centrifuge.ErrorTokenExpired: //nolint:errorlint // it is returned as it is
		return centrifuge.RefreshReply{Expired: true}, nil
	case err != nil:
		return centrifuge.RefreshReply{}, err
	case other != own.user:
		return centrifuge.RefreshReply{}, centrifuge.DisconnectInvalidToken
	default:
		own.since.Store(made.Unix())
	}
	return centrifuge.RefreshReply{ExpireAt: s.cfg.Now().Add(connectionLife).Unix()}, nil
}

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

func (s *Server) subscribing(user uint32, name string) (centrifuge.SubscribeOptions, error) {
	thread, err := s.right(user, name)
	if err != nil || thread == "" {
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
	if !own.mayBeat(s.cfg.Now()) {
		return nil, centrifuge.ErrorTooManyRequests
	}
	reply, err := s.cfg.Heartbeat(own.user, e.Data)
	return reply, protocolError(err)
}

const presenceMethod = "presence"

// readCommand refuses what this server does not have, and notes activity.
func (s *Server) readCommand(c *centrifuge.Client, e centrifuge.CommandReadEvent) error {
	command := e.Command
	if sub := command.Subscribe; sub != nil && (sub.Delta != "" || sub.Type != 0) {
		return centrifuge.ErrorNotAvailable
	}
	if pub := command.Publish; pub != nil && pub.Type != 0 {
		return centrifuge.ErrorNotAvailable
	}
	if command.Id != 0 && (command.Rpc == nil || command.Rpc.Method != presenceMethod) {
		if own := sessionOf(c); own != nil {
			own.touch(s.cfg.Now())
		}
	}
	return nil
}

// processed notes subscriptions.
func (s *Server) processed(_ *centrifuge.Client, e centrifuge.CommandProcessedEvent) {
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

// written counts what goes out to a client.
func (s *Server) written(c *centrifuge.Client, e centrifuge.TransportWriteEvent) bool {
	if e.FrameType == protocol.FrameTypePushPublication {
		s.cfg.Figures.PushDeliveries.Inc()
		if own := sessionOf(c); own != nil {
			own.touch(s.cfg.Now())
		}
	}
	return true
}

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

// mayBeat takes a heartbeat of the connection's share. The answer of a user with many contacts takes
// milliseconds. Commands of a connection come one after another.
func (own *session) mayBeat(now time.Time) bool {
	next := max(own.beat.Load(), now.Add(-beatsBurst*beatPace).UnixNano()) + int64(beatPace)
	if next > now.UnixNano() {
		return false
	}
	own.beat.Store(next)
	return true
}

func (own *session) idle(now time.Time) time.Duration {
	return time.Duration(now.Unix()-own.active.Load()) * time.Second
}
