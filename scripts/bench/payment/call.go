package payment

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/internal/background"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

const (
	triesMax = 20 // of a call, some 16 s in all
	pauseMin = 50 * time.Millisecond
	pauseMax = time.Second
	replyMax = 64 << 10 // bytes
	parallel = 32       // calls at once: half of the events that a server stores at once
)

// caller sends calls to the servers of a sale.
type caller struct {
	servers []string // host:port
	scheme  string
	http    *http.Client
	key     *webhooks.Webhook // nil: there are no events
	history *history.Writer   // nil: none
}

func newCaller(servers []string, encrypt *tls.Config, timeout time.Duration) *caller {
	transport := &http.Transport{TLSClientConfig: encrypt, MaxIdleConnsPerHost: parallel}
	c := &caller{servers: servers, scheme: "http://"}
	c.http = &http.Client{Transport: transport, Timeout: timeout}
	if encrypt != nil {
		c.scheme = "https://"
	}
	return c
}

// call is one call, by a user or with a signed event.
type call struct {
	method, path string
	token        string // of the user
	event        string // the id of the event
	body         any
	told         history.Event // what a history has of it, without the answer; the zero value is nothing
}

// ask sends a call to random servers until one answers it with less than 500, and not 429. into gets the
// JSON of a 200. It goes on when ctx ends: what it did must become known.
func (c *caller) ask(ctx context.Context, one call, into any) (status int, err error) {
	ctx = context.WithoutCancel(ctx)
	var body []byte
	if one.body != nil {
		body, _ = json.Marshal(one.body) // texts and numbers always encode
	}
	for n := 1; ; n++ {
		status, err = c.send(ctx, &one, body, into)
		settled := err == nil && status < http.StatusInternalServerError && status != http.StatusTooManyRequests
		if settled || n == triesMax {
			return status, err
		}
		background.Pause(ctx, background.Delay(n, pauseMin, pauseMax))
	}
}

func (c *caller) send(ctx context.Context, one *call, body []byte, into any) (status int, err error) {
	var text []byte
	if c.history != nil && one.told.Call != "" {
		began := c.history.Now()
		defer func() { c.write(one.told, began, status, err, text) }()
	}
	server := c.servers[rand.IntN(len(c.servers))]
	request, err := http.NewRequestWithContext(ctx, one.method, c.scheme+server+one.path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if one.token != "" {
		request.Header.Set("Access-Token", one.token)
	}
	if one.told.Key != "" {
		request.Header.Set("Idempotency-Key", one.told.Key)
	}
	if one.event != "" {
		if err := c.sign(request.Header, one.event, body); err != nil {
			return 0, err
		}
	}
	reply, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	text, err = io.ReadAll(io.LimitReader(reply.Body, replyMax))
	if err == nil && reply.StatusCode == http.StatusOK && into != nil {
		err = json.Unmarshal(text, into)
	}
	return reply.StatusCode, err
}

// write writes a call with its answer.
func (c *caller) write(e history.Event, began int64, status int, err error, text []byte) {
	e.Began, e.Ended, e.Outcome = began, c.history.Now(), history.Unknown
	if err == nil && status < http.StatusInternalServerError {
		var reply struct {
			Code string
			history.Listed
		}
		_ = json.Unmarshal(text, &reply) // some replies have no body
		switch e.Outcome = cmp.Or(reply.Code, history.Done); {
		case e.Call == history.Order:
			e.ID = reply.ID
		case e.Call == history.Read && e.Outcome == history.Done:
			e = e.Shows(reply.Listed)
		}
	}
	c.history.Write(e)
}

// sign signs an event by Standard Webhooks.
func (c *caller) sign(h http.Header, id string, body []byte) error {
	now := time.Now()
	signature, err := c.key.Sign(id, now, body)
	if err != nil {
		return err
	}
	h.Set(webhooks.HeaderWebhookID, id)
	h.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	h.Set(webhooks.HeaderWebhookSignature, signature)
	return nil
}

// tell sends an event.
func (c *caller) tell(ctx context.Context, id string, body any, told history.Event) (status int, err error) {
	return c.ask(ctx, call{method: "POST", path: "/payments/events", event: id, body: body, told: told}, nil)
}

// login returns a token of a user.
func (c *caller) login(ctx context.Context, name, password string) (token string, err error) {
	var reply struct {
		Token string `json:"access_token"`
	}
	status, err := c.ask(ctx, call{method: "POST", path: "/login",
		body: map[string]string{"username": name, "password": password}}, &reply)
	if err == nil && reply.Token == "" {
		err = fmt.Errorf("the login of %s was answered %d", name, status)
	}
	return reply.Token, err
}

// unreachable is the error of a call before the load.
func unreachable(path string, err error) error {
	return fmt.Errorf("%w: cannot ask %s: %w", sale.ErrUnreachable, path, err)
}
