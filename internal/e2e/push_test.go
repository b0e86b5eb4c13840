package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// device is a client of the push service that comes back wherever a server takes it.
type device struct {
	*centrifuge.Client
	t    *testing.T
	name string

	mu    sync.Mutex
	first int      // the first message that it sees, 0 for 1
	seen  []uint64 // offsets of the thread
	lost  bool     // a recovery was not complete
}

// ticketOf asks a server for a ticket.
func ticketOf(s *server, user int) (url, ticket string, err error) {
	c := client.Client{Address: s.Address, NewConnections: true, TLS: s.trust}
	defer c.HangUp()
	if err := c.LoginUser(user); err != nil {
		return "", "", err
	}
	var reply struct{ URL, Ticket string }
	err = c.Call("GET", "/push", "", &reply)
	return reply.URL, reply.Ticket, err
}

// newDevice connects a device of a user to a server.
func newDevice(t *testing.T, s *server, user int) *device {
	t.Helper()
	url, ticket, err := ticketOf(s, user)
	testkit.Must(t, err)
	d := &device{t: t, name: fmt.Sprintf("device of %d", user), Client: centrifuge.NewJsonClient(url,
		centrifuge.Config{Token: ticket, MinReconnectDelay: 5 * time.Millisecond,
			MaxReconnectDelay: 200 * time.Millisecond, TLSConfig: s.trust,
			GetToken: func(centrifuge.ConnectionTokenEvent) (string, error) {
				_, ticket, err := ticketOf(s, user)
				return ticket, err
			}})}
	t.Cleanup(d.Close)
	testkit.Must(t, d.Connect())
	testkit.Until(t, "connection of a device", func() bool { return d.State() == centrifuge.StateConnected })
	return d
}

// follow subscribes to a thread.
func (d *device) follow(thread string) {
	d.t.Helper()
	sub, err := d.NewSubscription("thread:"+thread, centrifuge.SubscriptionConfig{
		MinResubscribeDelay: 5 * time.Millisecond, MaxResubscribeDelay: 200 * time.Millisecond})
	testkit.Must(d.t, err)
	sub.OnPublication(func(e centrifuge.PublicationEvent) {
		if e.Offset > 0 {
			d.mu.Lock()
			d.seen = append(d.seen, e.Offset)
			d.mu.Unlock()
		}
	})
	sub.OnSubscribed(func(e centrifuge.SubscribedEvent) {
		d.mu.Lock()
		d.lost = d.lost || e.WasRecovering && !e.Recovered
		d.mu.Unlock()
	})
	testkit.Must(d.t, sub.Subscribe())
	testkit.Until(d.t, "subscription", func() bool { return sub.State() == centrifuge.SubStateSubscribed })
}

// has reports whether the device has seen that number of messages from the first on, each once and in order.
func (d *device) has(count int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, offset := range d.seen {
		if offset != uint64(i+max(d.first, 1)) {
			d.t.Fatalf("%s saw the messages %v", d.name, d.seen)
		}
	}
	if d.lost {
		d.t.Fatalf("%s was told that messages are lost", d.name)
	}
	return len(d.seen) == count
}

// pushers are the processes of a server that hold websockets, in the order of their starts.
func pushers(t *testing.T, s *server) (pids []int) {
	t.Helper()
	log, err := os.ReadFile(s.Log)
	testkit.Must(t, err)
	for _, found := range regexp.MustCompile(`msg="push connections are taken" role=push pid=(\d+)`).
		FindAllSubmatch(log, -1) {
		pid, err := strconv.Atoi(string(found[1]))
		testkit.Must(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// write stores a message until a server takes it: what is answered 200 is stored.
func write(t *testing.T, c *client.Client, thread, id string) {
	t.Helper()
	body := client.JSON(map[string]string{"content": "message " + id, "id": id})
	testkit.Until(t, "a stored message", func() bool {
		return c.Call("POST", "/threads/"+thread+"/messages", body, nil) == nil
	})
}

// Two users with two devices each talk over two servers, one of them over TLS. Push processes are killed and
// replaced, and Redis is killed and restarted: no message is lost, doubled or out of order, and no recovery
// is incomplete.
func TestConversationSurvives(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	redis := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	args := []string{"-chat", "-push-address", "127.0.0.1:0", "-redis", redis.Socket, "-users", "5",
		"-workers", "1", "-limits", "off", "-token-secret", sharedSecret, "-drain", "2s"}
	certificate := certtest.Write(t, testkit.Folder(t), time.Now().Add(time.Hour))
	first, second := setup{args: args}.serve(t), setup{args: slices.Concat(args, []string{
		"-tls-cert", certificate.ChainFile, "-tls-key", certificate.KeyFile})}.serve(t)
	second.trust = certtest.Trust(certificate)
	writer := first.client(t)
	writer.OnReply = nil
	testkit.Must(t, writer.LoginUser(2))
	var thread struct {
		ID string `json:"thread_id"`
	}
	testkit.Must(t, writer.Call("POST", "/threads", `{"participants":[3]}`, &thread))
	var devices []*device
	for _, user := range []int{2, 3} {
		for _, s := range []*server{first, second} {
			d := newDevice(t, s, user)
			d.follow(thread.ID)
			devices = append(devices, d)
		}
	}
	n := 0
	say := func(count int) {
		for range count {
			n++
			write(t, writer, thread.ID, strconv.Itoa(n))
		}
	}
	arrived := func(what string) {
		t.Helper()
		testkit.Until(t, "all messages "+what, func() bool {
			return !slices.ContainsFunc(devices, func(d *device) bool { return !d.has(n) })
		})
	}
	say(5)
	arrived("at first")
	kill(t, pushers(t, first)[0])
	say(20)
	arrived("after the end of a push process")
	redis.Kill(t)
	go func() { time.Sleep(300 * time.Millisecond); redis.Restart(t) }()
	say(5)
	arrived("after the end of Redis")
	for _, d := range devices { // a client publishes too
		n++
		body, err := json.Marshal(map[string]string{"content": "pushed", "id": strconv.Itoa(n)})
		testkit.Must(t, err)
		testkit.Until(t, "a publish", func() bool {
			ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
			defer stop()
			_, err := d.Publish(ctx, "thread:"+thread.ID, body)
			return err == nil
		})
	}
	arrived("of the clients")
	before := pushers(t, second)
	second.Send(t, syscall.SIGHUP)
	testkit.Until(t, "another push process", func() bool { return len(pushers(t, second)) > len(before) })
	say(10)
	arrived("after SIGHUP")
}
