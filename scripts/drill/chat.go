package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/audit"
)

// chatDrills hurt the conversation beside the sale: scripts/chat load talks while buyers order, and checks
// what it got.
var chatDrills = []drill{
	{name: "chat-push-killed", quiet: "worker-killed has it",
		says:  "kill -9 of the process with the websockets, while people talk",
		setup: setup{servers: 2, talk: coming}, noticed: may503, run: again(3, 10, killPush)},
	{name: "chat-push-frozen", alert: "PushLags",
		says:  "SIGSTOP of the process with the websockets for 3 s, while people talk",
		setup: setup{servers: 2, talk: pairs}, noticed: may503, run: pushPauses},
	{name: "chat-redis-killed", quiet: "redis-killed has it", says: "kill -9 of Redis, while people talk",
		setup: setup{servers: 2, talk: pairs}, noticed: must503, run: again(3, 10, killRedis)},
	{name: "chat-redis-frozen", quiet: "redis-frozen has it",
		says:  "SIGSTOP of Redis for 2 s, while people talk",
		setup: setup{servers: 1, talk: pairs}, noticed: may503, run: again(1, 5, redisPauses)},
	{name: "chat-server-frozen", quiet: "frozen-server has it",
		says:  "three servers, one is frozen and goes on, while people talk",
		setup: setup{servers: 3, talk: pairs}, noticed: may503 | mayDrop | mayHang, run: serverFrozen},
	{name: "chat-keeper-killed", quiet: "server-killed has it",
		says:  "kill -9 of a supervisor, which keeps the lists of threads; another server goes on",
		setup: setup{servers: 2, talk: pairs}, noticed: may503 | mayDrop, run: again(3, 10, serverKilled)},
	{name: "chat-sql-away", alert: "LedgerBehind",
		says:  "the database of older messages is away, while people talk",
		setup: setup{servers: 2, talk: pairs + " -whole", ledger: true, patient: true}, run: booksAway},
	{name: "chat-members", quiet: noFault, says: "members and devices come and go, while people talk",
		setup: setup{servers: 2, talk: coming}, run: peopleTalk},
}

const (
	chatSource = "flashsale/scripts/chat"
	pairs      = "-users 60"
	// Members and devices come and go. Only members who do not write are removed.
	coming = "-users 48 -members 6 -devices 2 -churn -closing"

	talkRate   = "80" // messages a second
	firstTalks = "500"
	// in Redis, of a thread of a drill with a database: they are full soon, and ten times as many last longer
	// than the database is away
	booksMessages = "20"
	settleMax     = 4 * time.Minute // of the load, after its last message
	talkFor       = 6 * time.Second // where nothing is broken
)

// talk is a run of scripts/chat load.
type talk struct{ run *launch.Process }

// startTalk starts the load, and returns once all of its users are connected; nil for a drill without one.
func startTalk(ctx context.Context, s *stack) (*talk, error) {
	if s.setup.talk == "" {
		return nil, nil
	}
	path, err := launch.Build(ctx, chatSource)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, server := range s.servers {
		addresses = append(addresses, server.address)
	}
	args := append([]string{"load", "-addr", strings.Join(addresses, ","), "-json", "-for", "0", "-rate",
		talkRate, "-first", firstTalks}, strings.Fields(s.setup.talk)...)
	run, err := launch.Program{Path: path, Args: args, Stdout: filepath.Join(s.folder, "chat.json"),
		Log: filepath.Join(s.folder, "chat.log")}.Start()
	if err != nil {
		return nil, err
	}
	t := &talk{run}
	return t, run.Await(ctx, "talk", startMax, func() bool {
		text, _ := os.ReadFile(run.Log) // the file exists from the start on
		return strings.Contains(string(text), "connected")
	})
}

// finish ends the load and judges its report.
func (t *talk) finish(ctx context.Context, r *result) error {
	if t == nil {
		return nil
	}
	if !t.run.Running() {
		return fmt.Errorf("the load of the conversation ended before the drill did: %v", t.run.State())
	}
	if err := t.run.Signal(syscall.SIGINT); err != nil {
		return err
	}
	if err := testkit.Await(ctx, "end of the load of the conversation", settleMax, func() bool {
		return !t.run.Running()
	}); err != nil {
		return err
	}
	text, err := os.ReadFile(t.run.Stdout)
	if err != nil {
		return fmt.Errorf("cannot read the report of the conversation: %w", err)
	}
	var rep struct {
		Acknowledged, Recovered, Unrecovered, Unknown int
		Checks                                        []audit.Check
		Arriving                                      struct {
			Max float64 `json:"max_ms"`
		} `json:"send_to_receipt"`
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		return fmt.Errorf("cannot read the report of the conversation (%v): %w", t.run.State(), err)
	}
	if rep.Acknowledged == 0 || len(rep.Checks) == 0 {
		return errors.New("the load of the conversation stored nothing, which proves nothing")
	}
	for _, check := range rep.Checks {
		if check.Violations > 0 {
			r.fail("%s: %d violations, such as %q", check.Name, check.Violations, check.Examples)
		}
	}
	r.notes = append(r.notes, fmt.Sprintf("%d messages acknowledged, %d outcomes unknown, each arrived within "+
		"%.1f s; %d devices recovered, %d were told that messages are gone", rep.Acknowledged, rep.Unknown,
		rep.Arriving.Max/1000, rep.Recovered, rep.Unrecovered))
	return nil
}

// chatFlags are the flags of a server with the conversation.
func chatFlags(c setup) ([]string, error) {
	if c.talk == "" {
		return nil, nil
	}
	port, err := launch.FreePort()
	args := []string{"-chat", "-push-address", localhost(port), "-room-pace", "0", "-limits", "off"}
	if c.ledger {
		args = append(args, "-chat-messages", booksMessages)
	}
	return args, err
}

// pushOf is the process of a server that holds the websockets, 0 where none does.
func pushOf(one *server) int {
	for _, child := range one.workers() {
		if role, _ := proc.Environ(child); slices.Contains(role, "FLASHSALE_WORKER=push/0") {
			return child
		}
	}
	return 0
}

// killPush kills the process of a server that holds the websockets, and returns once another does.
func killPush(ctx context.Context, s *stack, dice *rand.Rand) error {
	one := s.servers[dice.IntN(len(s.servers))]
	pid := 0
	holds := func() bool {
		found := pushOf(one)
		another := found != 0 && found != pid
		if another {
			pid = found
		}
		return another
	}
	if err := testkit.Await(ctx, "push process to kill", startMax, holds); err != nil {
		return err
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // the only error: it has ended
	return testkit.Await(ctx, "another push process", startMax, holds)
}

// pushPauses freezes the process that holds the websockets. The alert fires once it goes on and sends
// what was stored meanwhile.
func pushPauses(ctx context.Context, s *stack, dice *rand.Rand) error {
	pid := pushOf(s.servers[dice.IntN(len(s.servers))])
	if pid == 0 {
		return errors.New("there is no push process to freeze")
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP) // the only error: it has ended
	background.Pause(ctx, 3*time.Second)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	s.awaitAlert(ctx)
	return nil
}

func redisPauses(ctx context.Context, s *stack, _ *rand.Rand) error {
	return s.redis.freeze(ctx, 2*time.Second)
}

// peopleTalk breaks nothing: people talk for a while.
func peopleTalk(ctx context.Context, s *stack, _ *rand.Rand) error {
	background.Pause(ctx, s.lasting(talkFor, 5*talkFor))
	return nil
}

// A server cuts off a client that does not read, once its queue and the buffers of the kernel are full.
const (
	slowClients  = 8   // of root
	slowMessages = 400 // to each
	slowSize     = 4000
	refusedHook  = "/hook"
	hookSecret   = "whsec_ZHJpbGxkcmlsbGRyaWxsZHJpbGxkcmlsbA=="
)

// floodPushes sends root messages of a user, who is not connected and gets no post, while root's devices
// read nothing.
func (a *asides) floodPushes(ctx context.Context) error {
	root := a.client()
	defer root.HangUp()
	for range slowClients {
		c, err := a.connectPush(root)
		if err != nil {
			return err
		}
		defer c.Close()
	}
	var thread struct {
		ID string `json:"thread_id"`
	}
	if err := root.Call("POST", "/threads", `{"participants":[2]}`, &thread); err != nil {
		return err
	}
	for i := 0; i < slowMessages && ctx.Err() == nil; i++ {
		body := fmt.Sprintf(`{"content":"%d %s","id":"flood %d"}`, i, strings.Repeat("x", slowSize), i)
		if err := root.Call("POST", "/threads/"+thread.ID+"/messages", body, nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// connectPush connects a device that reads no further than its welcome.
func (a *asides) connectPush(user *client.Client) (net.Conn, error) {
	var at struct{ URL, Ticket string }
	if err := user.Call("GET", "/push", "", &at); err != nil {
		return nil, err
	}
	place, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", place.Host)
	if err != nil {
		return nil, err
	}
	hello := `{"id":1,"connect":{"token":"` + at.Ticket + `"}}`
	frame := append([]byte{0x81, 0x80 | byte(len(hello)), 0, 0, 0, 0}, hello...) // a text, masked with 0
	socket := tls.Client(c, a.trust)
	_, err = fmt.Fprintf(socket, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", place.Path, place.Host)
	welcome := make([]byte, 512)
	for part := range 2 { // the reply, then the frame
		if err == nil {
			_, err = socket.Read(welcome)
		}
		if err == nil && part == 0 {
			_, err = socket.Write(frame)
		}
	}
	if err == nil {
		err = c.(*net.TCPConn).SetReadBuffer(4096)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot connect for pushes: %w", err), c.Close())
	}
	return socket, nil
}
