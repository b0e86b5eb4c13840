package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
)

const (
	callTimeout    = 3 * time.Second
	retryFirst     = 50 * time.Millisecond
	retryMost      = time.Second
	heartbeatEvery = 10 * time.Second
	reconnectMost  = 2 * time.Second
)

// thread is a conversation as its owner sees it.
type thread struct {
	ID           string   `json:"thread_id"`
	Kind         string   `json:"kind"`
	Participants []uint32 `json:"participants"`
	Members      int      `json:"members"`
	Muted        bool     `json:"is_muted"`
	Nickname     string   `json:"nickname"`
	Unread       int64    `json:"unread"`
	Read         int64    `json:"read"`
	Last         int64    `json:"last"`
}

// message is a message; of one that was removed the content is gone.
type message struct {
	ID      int64     `json:"id"`
	Thread  string    `json:"thread_id"`
	User    uint32    `json:"user_id"`
	Content string    `json:"content"`
	Created time.Time `json:"created_at"`
	Removed bool      `json:"removed"`
}

// event is a push on the channel of a user.
type event struct {
	Event   string   `json:"event"`
	Thread  string   `json:"thread_id"`
	Message *message `json:"message"`
}

// session is a user who has logged in. Where a server does not answer, the session goes on with the next.
type session struct {
	servers []string // host:port, of one sale

	mu   sync.Mutex
	at   int // of servers
	http client.Client

	user uint32
	name string
}

// loggedIn is the answer of a login and of a registration.
type loggedIn struct {
	User  uint32 `json:"user_id"`
	Name  string `json:"username"`
	Token string `json:"access_token"`
}

// newSession makes a session that begins with one of the servers.
func newSession(servers []string, at int) *session {
	at %= len(servers)
	return &session{servers: servers, at: at, http: client.Client{Address: servers[at], Timeout: callTimeout}}
}

// login logs in. It registers the user first if register is set.
func (s *session) login(ctx context.Context, name, password string, register bool) error {
	path, body := "/login", client.LoginBody(name, password)
	if register {
		path, body = "/users", client.JSON(map[string]string{"name": name, "password": password})
	}
	var done loggedIn
	err := s.insist(ctx, "POST", path, body, &done)
	s.user, s.name, s.http.Token = done.User, done.Name, done.Token
	return err
}

// call makes one call. Without an answer the outcome is unknown, and the next call goes to the next server.
func (s *session) call(method, path, body string, into any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.http.Call(method, path, body, into)
	if err != nil && !refused(err) {
		s.http.HangUp()
		s.at = (s.at + 1) % len(s.servers)
		s.http.Address = s.servers[s.at]
	}
	return err
}

// insist repeats a call until it is answered or refused, or ctx ends. The call must be safe to repeat.
func (s *session) insist(ctx context.Context, method, path, body string, into any) error {
	for failures := 1; ; failures++ {
		err := s.call(method, path, body, into)
		if err == nil || refused(err) {
			return err
		}
		if !background.Pause(ctx, background.Delay(failures, retryFirst, retryMost)) {
			return err
		}
	}
}

// hangUp closes the connection of the calls; the next call opens another.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.http.HangUp()
}

// refused reports whether a server has refused a call for good.
func refused(err error) bool {
	var r client.Refusal
	return errors.As(err, &r) && r.Status < 500
}

// post stores a message. Repeated under the same key it is stored once.
func (s *session) post(ctx context.Context, thread, key, content string) (m message, err error) {
	body := client.JSON(map[string]string{"id": key, "content": content})
	err = s.insist(ctx, "POST", "/threads/"+thread+"/messages", body, &m)
	return m, err
}

// messages returns messages of a thread, oldest first; query is before=, after= and limit=.
func (s *session) messages(
	ctx context.Context, thread, query string,
) (list []message, last int64, err error) {
	var page struct {
		Messages []message
		Last     int64
	}
	err = s.insist(ctx, "GET", "/threads/"+thread+"/messages?"+query, "", &page)
	return page.Messages, page.Last, err
}

// threads returns a page of the threads, the newest change first, and where the next poll begins.
func (s *session) threads(ctx context.Context, query string) (list []thread, changed int64, err error) {
	var page struct {
		Threads []thread
		Changed int64
	}
	err = s.insist(ctx, "GET", "/threads?"+query, "", &page)
	return page.Threads, page.Changed, err
}

// changes returns all threads that have changed since, the newest change first, and where the next poll
// begins.
func (s *session) changes(ctx context.Context, since int64) (all []thread, changed int64, err error) {
	query := "after=" + strconv.FormatInt(since, 10)
	for before := ""; ; {
		var page struct {
			Threads       []thread
			Changed, Next int64
		}
		if err := s.insist(ctx, "GET", "/threads?"+query+before, "", &page); err != nil {
			return nil, since, err
		}
		if before == "" {
			changed = page.Changed
		}
		all = append(all, page.Threads...)
		if page.Next == 0 {
			return all, changed, nil
		}
		before = "&before=" + strconv.FormatInt(page.Next, 10)
	}
}

// roomID is the thread of the sale's room.
func (s *session) roomID(ctx context.Context) (string, error) {
	var room thread
	err := s.insist(ctx, "GET", "/rooms/sale", "", &room)
	return room.ID, err
}

// ticket is the answer of GET /push.
type ticket struct{ URL, Ticket string }

// pushURLs are the addresses for pushes of all servers that answer.
func pushURLs(servers []string, token string) (string, error) {
	var urls []string
	var failed error
	for _, server := range servers {
		c := client.Client{Address: server, Timeout: callTimeout, Token: token, NewConnections: true}
		var t ticket
		if err := c.Call("GET", "/push", "", &t); err != nil {
			failed = err
			continue
		}
		urls = append(urls, t.URL)
	}
	if len(urls) == 0 {
		return "", fmt.Errorf("no server tells where to connect: %w", failed)
	}
	return strings.Join(urls, ","), nil
}

// socket makes a connection for pushes; the caller sets its handlers and connects it. It goes to each of the
// addresses in turn.
func (s *session) socket(urls string) *centrifuge.Client {
	return centrifuge.NewJsonClient(urls, centrifuge.Config{
		Name: "scripts/chat", HandshakeTimeout: callTimeout, MaxReconnectDelay: reconnectMost,
		GetToken: func(centrifuge.ConnectionTokenEvent) (string, error) {
			var t ticket
			err := s.call("GET", "/push", "", &t)
			return t.Ticket, err
		}})
}

// beat sends heartbeats over the socket until ctx ends.
func beat(ctx context.Context, c *centrifuge.Client, every time.Duration, told func(error)) {
	for background.Pause(ctx, every) {
		if c.State() != centrifuge.StateConnected {
			continue
		}
		asked, cancel := context.WithTimeout(ctx, callTimeout)
		_, err := c.RPC(asked, "presence", []byte("{}"))
		cancel()
		told(err)
	}
}

// Names of channels.
func threadChannel(id string) string { return "thread:" + id }
