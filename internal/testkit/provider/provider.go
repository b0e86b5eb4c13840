// Package provider is a provider of payments for tests, drills and the bench: an HTTP server on 127.0.0.1
// with the API of Stripe Checkout and that of a shop's own program. It keeps payments in memory and takes no
// money. Its events are sent when the test says so, and with the faults that the test wants.
package provider

import (
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// State is how far a payment is.
type State string

// The states of a payment.
const (
	Open  State = "open"
	Ended State = "ended"
	Paid  State = "paid"
)

// Payment is a payment at the provider.
type Payment struct {
	ID, Order string
	Amount    int64
	Expires   string // as it was asked for
	State     State

	currency string
}

// Config of a Provider.
type Config struct {
	Stripe bool   // events are Stripe's, else they are signed by Standard Webhooks
	Secret string // signs the events: whsec_ and base64
	Key    string // that calls must carry
}

// Provider is a running provider. Its methods are safe for concurrent use.
type Provider struct {
	cfg      Config
	listener net.Listener
	server   *http.Server

	mu       sync.Mutex
	payments map[string]*Payment
	asked    map[string]request // by idempotency key
	order    []string           // ids of payments, in the order in which they were opened
	pending  []event
	events   int
	mute     int // calls that are carried out and get no answer
	refuse   int // status of all answers, 0: they are as usual
}

// request is a call with an idempotency key.
type request struct{ text, payment string }

// Start starts a provider.
func Start(cfg Config) (*Provider, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, listener: listener, payments: map[string]*Payment{}, asked: map[string]request{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payments", p.open)
	mux.HandleFunc("GET /pay/{id}", showPage)
	mux.HandleFunc("DELETE /payments/{id}", p.end)
	mux.HandleFunc("POST /v1/checkout/sessions", p.open)
	mux.HandleFunc("POST /v1/checkout/sessions/{id}/expire", p.end)
	p.server = &http.Server{Handler: mux}
	go func() { _ = p.server.Serve(listener) }() // until Close
	return p, nil
}

// Close ends the provider.
func (p *Provider) Close() { p.server.Close() }

// URL is where the provider is.
func (p *Provider) URL() string { return "http://" + p.listener.Addr().String() }

// showPage is where a buyer pays. The test does it in the buyer's place, by Pay.
func showPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<!doctype html><title>Pay</title><h1>Payment %s</h1>", html.EscapeString(r.PathValue("id")))
}

// Flag is the value of -payment for this provider.
func (p *Provider) Flag() string {
	if p.cfg.Stripe {
		return "stripe+" + p.URL()
	}
	return p.URL() + "/payments"
}

// Mute lets the next calls be carried out and get no answer, as if the network had lost it.
func (p *Provider) Mute(calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = calls
}

// Refuse answers all calls with this status and carries none out, until Refuse(0).
func (p *Provider) Refuse(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = status
}

// open opens a payment; the same idempotency key gets the same one.
func (p *Provider) open(w http.ResponseWriter, r *http.Request) {
	wanted, text, err := p.read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.answer(w, r, func() (int, any) {
		key := r.Header.Get("Idempotency-Key")
		known, again := p.asked[key]
		switch {
		case again && known.text != text:
			return http.StatusBadRequest, map[string]string{"error": "another request has this key"}
		case !again:
			wanted.ID, wanted.State = fmt.Sprintf("pay_%d", len(p.order)+1), Open
			p.payments[wanted.ID] = wanted
			p.order = append(p.order, wanted.ID)
			known = request{text, wanted.ID}
			p.asked[key] = known
		}
		return http.StatusOK, map[string]string{"id": known.payment, "url": p.URL() + "/pay/" + known.payment}
	})
}

// read reads a request to open a payment, in either API.
func (p *Provider) read(r *http.Request) (wanted *Payment, text string, err error) {
	if p.cfg.Stripe {
		if err := r.ParseForm(); err != nil {
			return nil, "", err
		}
		amount, err := strconv.ParseInt(r.PostForm.Get("line_items[0][price_data][unit_amount]"), 10, 64)
		return &Payment{Order: r.PostForm.Get("client_reference_id"), Amount: amount,
			Expires: r.PostForm.Get("expires_at"), currency: r.PostForm.Get("line_items[0][price_data][currency]"),
		}, r.PostForm.Encode(), err
	}
	var body struct {
		Order  string `json:"order_id"`
		Amount int64
		Till   string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, "", err
	}
	return &Payment{Order: body.Order, Amount: body.Amount, Expires: body.Till}, fmt.Sprint(body), nil
}

// answer carries a call out and answers it.
func (p *Provider) answer(w http.ResponseWriter, r *http.Request, do func() (status int, reply any)) {
	p.mu.Lock()
	if p.refuse != 0 {
		defer p.mu.Unlock()
		w.WriteHeader(p.refuse)
		return
	}
	status, reply := http.StatusUnauthorized, any(nil)
	if strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") == p.cfg.Key {
		status, reply = do()
	}
	mute := p.mute > 0
	if mute {
		p.mute--
	}
	p.mu.Unlock()
	if mute {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply)
}

func (p *Provider) end(w http.ResponseWriter, r *http.Request) {
	p.answer(w, r, func() (int, any) {
		found := p.payments[r.PathValue("id")]
		switch {
		case found == nil:
			return http.StatusNotFound, nil
		case found.State != Open:
			return http.StatusConflict, nil
		}
		found.State = Ended
		return http.StatusOK, struct{}{}
	})
}

// Payments are all payments, in the order in which they were opened.
func (p *Provider) Payments() (list []Payment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.order {
		list = append(list, *p.payments[id])
	}
	return list
}

// Pay pays a payment that is open; even one that has ended, where anyhow is true: the buyer was on the page.
// The event is made, and not sent.
func (p *Provider) Pay(id string, anyhow bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.payments[id]
	if found == nil || found.State == Paid || found.State == Ended && !anyhow {
		return fmt.Errorf("payment %q cannot be paid: %+v", id, found)
	}
	found.State = Paid
	p.events++
	p.pending = append(p.pending, p.eventOf(found))
	return nil
}
