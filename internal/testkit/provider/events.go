package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const sendTimeout = 10 * time.Second

// event is an event that waits to be taken.
type event struct{ id, body string }

// eventOf tells that a payment was made.
func (p *Provider) eventOf(of *Payment) event {
	e := event{id: "evt_" + strconv.Itoa(p.events)}
	var value any = map[string]any{"type": "payment.succeeded", "data": map[string]any{"payment_id": of.ID,
		"order_id": of.Order, "amount": of.Amount}}
	if p.cfg.Stripe {
		value = map[string]any{"id": e.id, "type": "checkout.session.completed",
			"data": map[string]any{"object": map[string]any{"id": of.ID, "client_reference_id": of.Order,
				"amount_total": of.Amount, "currency": of.currency, "payment_status": "paid"}}}
	}
	body, _ := json.Marshal(value) // texts and numbers can always be written
	e.body = string(body)
	return e
}

// Faults are what happens to events on their way.
type Faults struct {
	Rand    *rand.Rand
	Shuffle bool
	Twice   float64 // share that is sent twice
	Forged  float64 // share before which a forged copy is sent
	Keep    float64 // share that is left for the next call
}

// Sent tells what became of events.
type Sent struct {
	Taken, Refused int // by the server; refused ones wait for the next call
	ForgedTaken    int // forged ones that the server has taken
	Statuses       []int
}

// Send sends all events that wait to a URL. An error means that the server did not answer; events that it
// has not taken wait.
func (p *Provider) Send(url string, f Faults) (sent Sent, err error) {
	p.mu.Lock()
	events := p.pending
	p.pending = nil
	p.mu.Unlock()
	if f.Shuffle {
		f.Rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	}
	for _, e := range events {
		if err != nil || chance(&f, f.Keep) {
			p.wait(e)
			continue
		}
		if chance(&f, f.Forged) {
			if status, _ := p.post(url, e, true); status/100 == 2 {
				sent.ForgedTaken++
			}
		}
		times := 1
		if chance(&f, f.Twice) {
			times = 2
		}
		status := 0
		for range times {
			if status, err = p.post(url, e, false); err == nil {
				sent.Statuses = append(sent.Statuses, status)
			}
		}
		if err != nil || status/100 != 2 {
			sent.Refused++
			p.wait(e)
			continue
		}
		sent.Taken++
	}
	return sent, err
}

func chance(f *Faults, share float64) bool { return share > 0 && f.Rand.Float64() < share }

func (p *Provider) wait(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, e)
}

// Waiting is how many events wait.
func (p *Provider) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending)
}

// Each event comes over a connection of its own: a worker that was replaced keeps those that it has.
var sender = &http.Client{Timeout: sendTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

func (p *Provider) post(url string, e event, forged bool) (status int, err error) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(e.body))
	if err != nil {
		return 0, err
	}
	signed := e
	if forged {
		signed.body += " "
	}
	if err := p.sign(r.Header, signed, time.Now()); err != nil {
		return 0, err
	}
	reply, err := sender.Do(r)
	if err != nil {
		return 0, err
	}
	reply.Body.Close()
	return reply.StatusCode, nil
}

// sign signs an event.
func (p *Provider) sign(h http.Header, e event, now time.Time) error {
	h.Set("Content-Type", "application/json")
	if p.cfg.Stripe {
		mac := hmac.New(sha256.New, []byte(p.cfg.Secret))
		fmt.Fprintf(mac, "%d.%s", now.Unix(), e.body)
		h.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", now.Unix(), hex.EncodeToString(mac.Sum(nil))))
		return nil
	}
	key, err := webhooks.NewWebhook(p.cfg.Secret)
	if err != nil {
		return err
	}
	signature, err := key.Sign(e.id, now, []byte(e.body))
	if err != nil {
		return err
	}
	h.Set(webhooks.HeaderWebhookID, e.id)
	h.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	h.Set(webhooks.HeaderWebhookSignature, signature)
	return nil
}
