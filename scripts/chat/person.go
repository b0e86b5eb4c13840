package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/testkit/client"
)

const (
	pollEvery    = 10 * time.Second
	pushPatience = 10 * time.Second // without a connection the person is told, and the program polls
	historyPage  = 20               // messages
	passwordName = "CHAT_PASSWORD"  // in the environment
)

// terminal is a person at a terminal. One goroutine does everything: what connections bring waits in inbox.
type terminal struct {
	servers        []string
	user, password string
	register       bool
	pollOnly       bool // no websocket
	in             io.Reader
	out            io.Writer

	*session
	ctx     context.Context // of the whole program
	inbox   chan func()
	socket  *centrifuge.Client
	away    time.Time // since when pushes are missing; zero while they come
	missed  bool      // the person knows
	polling bool
	polled  time.Time
	changed int64 // where the next poll begins

	names  map[uint32]string // of the contacts
	list   []thread          // as /threads has shown it
	open   thread            // "" without one
	sub    *centrifuge.Subscription
	oldest int64 // shown message of the open thread
	newest int64 // -1: nothing was read yet
	marked int64 // read up to, as the server knows it
}

func parsePerson(args []string, in io.Reader, out io.Writer) (*terminal, error) {
	t := &terminal{in: in, out: out, inbox: make(chan func(), 256), names: map[uint32]string{}}
	var addresses string
	fs := flag.NewFlagSet("chat", flag.ContinueOnError)
	fs.StringVar(&addresses, "addr", "127.0.0.1:8080", "`host:port` of the servers, with commas between them")
	fs.StringVar(&t.user, "user", "", "`name`")
	fs.StringVar(&t.password, "password", os.Getenv(passwordName), "better set as "+passwordName+
		" in the environment, or typed when asked")
	fs.BoolVar(&t.register, "register", false, "register this name first")
	fs.BoolVar(&t.pollOnly, "poll", false, fmt.Sprintf("no websocket: ask every %v", pollEvery))
	if err := parse(fs, args, out); err != nil {
		return nil, err
	}
	if t.user == "" {
		return nil, fmt.Errorf("%w: -user is missing", errUsage)
	}
	t.servers = strings.Split(addresses, ",")
	return t, nil
}

// run talks until /quit, the end of the input, or a signal.
func (t *terminal) run(ctx context.Context) error {
	t.ctx = ctx
	lines := bufio.NewScanner(t.in)
	if t.password == "" {
		t.password = t.ask(lines)
	}
	t.session = newSession(t.servers, 0)
	if err := t.login(ctx, t.user, t.password, t.register); err != nil {
		return fmt.Errorf("cannot log in: %w", err)
	}
	defer t.hangUp()
	typed := make(chan string)
	go func() {
		defer close(typed)
		for lines.Scan() {
			typed <- lines.Text()
		}
	}()
	if t.polling = t.pollOnly; !t.polling {
		if err := t.connect(); err != nil {
			return err
		}
		defer t.socket.Close()
	}
	t.say("You are %s. /help lists the commands.", t.name)
	t.readContacts()
	t.listThreads()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case do := <-t.inbox:
			do()
		case <-clock.C:
			t.tick()
		case line, ok := <-typed:
			if !ok || !t.command(strings.TrimSpace(line)) {
				t.markRead()
				return nil
			}
		}
	}
}

// ask asks for the password; a terminal does not show it.
func (t *terminal) ask(lines *bufio.Scanner) string {
	echo := func(mode string) {
		if file, isFile := t.in.(*os.File); isFile {
			cmd := exec.Command("stty", mode)
			cmd.Stdin = file
			_ = cmd.Run() // it fails where the input is no terminal
		}
	}
	fmt.Fprint(t.out, "Password: ")
	echo("-echo")
	defer echo("echo")
	lines.Scan()
	fmt.Fprintln(t.out)
	return lines.Text()
}

func (t *terminal) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// fails tells of an error and reports whether there is one.
func (t *terminal) fails(err error) bool {
	if err != nil {
		t.say("! %v", err)
	}
	return err != nil
}

// connect opens the socket. It connects again by itself until a server asks it to poll.
func (t *terminal) connect() error {
	urls, err := pushURLs(t.servers, t.http.Token)
	if err != nil {
		return err
	}
	t.away = time.Now()
	t.socket = t.session.socket(urls)
	later := func(do func()) {
		select {
		case t.inbox <- do:
		case <-t.ctx.Done():
		}
	}
	t.socket.OnConnected(func(centrifuge.ConnectedEvent) { later(t.connected) })
	t.socket.OnConnecting(func(centrifuge.ConnectingEvent) { later(func() { t.lost("") }) })
	t.socket.OnDisconnected(func(e centrifuge.DisconnectedEvent) { later(func() { t.lost(e.Reason) }) })
	t.socket.OnPublication(func(e centrifuge.ServerPublicationEvent) {
		var told event
		if json.Unmarshal(e.Data, &told) == nil {
			later(func() { t.update(&told) })
		}
	})
	go beat(t.ctx, t.socket, heartbeatEvery, func(error) {}) // a lost one is followed by the next
	_ = t.socket.Connect()                                   // after an error it tries again by itself
	return nil
}

func (t *terminal) connected() {
	if t.polling {
		t.say("* Pushes come again; no more polling.")
	} else if t.missed {
		t.say("* Connected again.")
	}
	t.away, t.missed, t.polling = time.Time{}, false, false
}

// lost notes that no pushes come. With a reason the server does not want this client to connect by itself.
func (t *terminal) lost(reason string) {
	if t.away.IsZero() {
		t.away = time.Now()
		if reason == "" {
			t.missed = true
			t.say("* The connection is lost; it is tried again.")
		}
	}
	if reason != "" && t.ctx.Err() == nil {
		t.poll(reason)
	}
}

// tick is called each second.
func (t *terminal) tick() {
	if !t.away.IsZero() && !t.polling && time.Since(t.away) > pushPatience {
		t.poll(fmt.Sprintf("no connection for %v", pushPatience))
	}
	if time.Since(t.polled) < pollEvery {
		return
	}
	t.polled = time.Now()
	t.markRead()
	if !t.polling {
		return
	}
	t.fails(t.call("POST", "/presence", "", nil))
	list, changed, err := t.changes(t.patience(), t.changed)
	if t.fails(err) {
		return
	}
	t.changed = changed
	t.learnOf(list)
	for i := range list {
		if list[i].ID == t.open.ID {
			t.readNew()
		} else if list[i].Unread > 0 {
			t.say("* %s: %d unread", t.title(&list[i]), list[i].Unread)
		}
	}
	if t.open.Kind == "room" { // it is in no list
		t.readNew()
	}
}

func (t *terminal) poll(reason string) {
	if !t.polling {
		t.say("* No pushes (%s). This program polls every %v. It connects again when you type.", reason,
			pollEvery)
	}
	t.polling = true
}

// patience bounds one call.
func (t *terminal) patience() context.Context {
	ctx, cancel := context.WithCancel(t.ctx)
	time.AfterFunc(callTimeout, cancel)
	return ctx
}

// update shows a message of a thread that is not open.
func (t *terminal) update(e *event) {
	m := e.Message
	if m != nil && m.Thread != t.open.ID && m.User != t.session.user {
		t.say("* %s writes elsewhere: %s", t.nameOf(m.User), m.Content)
	}
}

// subscribe follows the open thread.
func (t *terminal) subscribe() {
	if t.socket == nil {
		return
	}
	id := t.open.ID
	sub, err := t.socket.NewSubscription(threadChannel(id))
	if t.fails(err) {
		return
	}
	t.sub = sub
	later := func(do func()) {
		t.inbox <- func() {
			if t.open.ID == id {
				do()
			}
		}
	}
	sub.OnSubscribed(func(e centrifuge.SubscribedEvent) {
		if !e.Recovered {
			later(t.readNew)
		}
	})
	sub.OnPublication(func(e centrifuge.PublicationEvent) {
		var m message
		if json.Unmarshal(e.Data, &m) == nil && m.ID > 0 {
			later(func() { t.show(&m) })
		}
	})
	sub.OnUnsubscribed(func(e centrifuge.UnsubscribedEvent) {
		if e.Code >= 2000 { // the server did it
			later(func() { t.say("* You no longer get this thread: %s", e.Reason) })
		}
	})
	t.fails(sub.Subscribe())
}

// show shows a message of the open thread, unless it has been shown.
func (t *terminal) show(m *message) {
	if m.ID <= t.newest {
		return
	}
	t.newest = m.ID
	t.line(m)
}

func (t *terminal) line(m *message) {
	if m.Removed {
		t.say("%5d  (removed)", m.ID)
		return
	}
	t.say("%5d  %s  %s: %s", m.ID, m.Created.Local().Format("15:04"), t.nameOf(m.User), m.Content)
}

// readNew shows what is newer than the newest shown message.
func (t *terminal) readNew() {
	for {
		query := fmt.Sprintf("limit=%d", historyPage)
		if t.newest >= 0 {
			query += fmt.Sprintf("&after=%d", t.newest)
		}
		list, last, err := t.messages(t.patience(), t.open.ID, query)
		if t.fails(err) {
			return
		}
		if len(list) == 0 {
			t.newest = max(t.newest, 0)
			return
		}
		if t.newest > 0 && list[0].ID > t.newest+1 {
			t.say("* Messages %d to %d are no longer kept.", t.newest+1, list[0].ID-1)
		}
		if t.oldest == 0 {
			t.oldest = list[0].ID
		}
		for i := range list {
			t.show(&list[i])
		}
		if t.newest >= last {
			return
		}
	}
}

// markRead tells the server how far the person has read.
func (t *terminal) markRead() {
	if t.open.ID == "" || t.open.Kind == "room" || t.newest <= t.marked {
		return
	}
	body := fmt.Sprintf(`{"read":%d}`, t.newest)
	if !t.fails(t.call("PATCH", "/threads/"+t.open.ID, body, nil)) {
		t.marked = t.newest
	}
}

// isRefused reports whether an error is this refusal of a server.
func isRefused(err error, code string) bool {
	var r client.Refusal
	return errors.As(err, &r) && r.Code == code
}
