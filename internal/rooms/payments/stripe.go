package payments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	callTimeout = 10 * time.Second
	replyMax    = 64 << 10
	stripeAPI   = "https://api.stripe.com"

	// StripeLeast and StripeMost bound the time that Stripe gives a payment.
	StripeLeast = 30 * time.Minute
	StripeMost  = 24 * time.Hour

	stripeMargin = time.Minute // for the way there and the clocks
)

// Stripe opens payments with Stripe Checkout. Source: docs.stripe.com/api/checkout/sessions.
type Stripe struct {
	API    string // "" for Stripe's own
	Key    string // secret API key
	Return string // URL of the page to which the buyer comes back
}

// Open opens a Checkout Session. The idempotency key is the order's attempt. Stripe takes no session that
// ends sooner than StripeLeast from now, so that of a later attempt may outlive the hold.
func (s *Stripe) Open(ctx context.Context, o Order) (Session, error) {
	expires := o.Till
	if soonest := o.Begun.Add(StripeLeast + stripeMargin); expires.Before(soonest) {
		expires = soonest
	}
	form := url.Values{
		"mode": {"payment"}, "client_reference_id": {o.ID}, "success_url": {s.Return}, "cancel_url": {s.Return},
		"expires_at":                                    {strconv.FormatInt(expires.Unix(), 10)},
		"line_items[0][quantity]":                       {"1"},
		"line_items[0][price_data][currency]":           {strings.ToLower(o.Currency)},
		"line_items[0][price_data][unit_amount]":        {strconv.FormatInt(o.Amount, 10)},
		"line_items[0][price_data][product_data][name]": {cmp.Or(o.Title, o.ID)},
	}
	var reply struct{ ID, URL string }
	err := s.call(ctx, "/v1/checkout/sessions", o.ID+"/"+strconv.Itoa(o.Attempt), form, &reply)
	if err == nil {
		err = useful(reply.ID, reply.URL)
	}
	return Session{reply.ID, reply.URL}, err
}

// useful returns an error for a payment without an id, or without a page that a browser may be sent to.
func useful(id, page string) error {
	u, err := url.Parse(page)
	if id == "" || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%w: %w", ErrProvider, errUseless)
	}
	return nil
}

// End expires a Checkout Session.
func (s *Stripe) End(ctx context.Context, session string) error {
	err := s.call(ctx, "/v1/checkout/sessions/"+url.PathEscape(session)+"/expire", "", nil, nil)
	if status, ok := err.(answered); ok && status/100 == 4 { // it is complete or expired
		return nil
	}
	return err
}

func (s *Stripe) call(ctx context.Context, path, key string, form url.Values, reply any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, cmp.Or(s.API, stripeAPI)+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("cannot make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+s.Key)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return send(r, reply)
}

// answered is a status other than 2xx.
type answered int

func (a answered) Error() string { return fmt.Sprintf("%v: it answers %d", ErrProvider, int(a)) }
func (a answered) Unwrap() error { return ErrProvider }

var client = &http.Client{
	Timeout: callTimeout,
	Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: replyMax, MaxConnsPerHost: openMax + enders, MaxIdleConnsPerHost: openMax,
		IdleConnTimeout: time.Minute},
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the key is for this host
	},
}

// send sends a request and reads the JSON of its reply.
func send(r *http.Request, reply any) error {
	got, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProvider, err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, replyMax))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrProvider, err)
	case got.StatusCode/100 != 2:
		return answered(got.StatusCode)
	case reply == nil:
		return nil
	}
	if err := json.Unmarshal(text, reply); err != nil {
		return fmt.Errorf("%w: %w: %w", ErrProvider, errUseless, err)
	}
	return nil
}

// Program opens payments with a program of the shop: POST to its URL opens one, DELETE of URL/id ends it.
type Program struct {
	URL   string
	Token string // sent as "Authorization: Bearer"
}

// Open posts the order.
func (p *Program) Open(ctx context.Context, o Order) (Session, error) {
	body, err := json.Marshal(map[string]any{"order_id": o.ID, "attempt": o.Attempt, "amount": o.Amount,
		"currency": o.Currency, "till": o.Till.UTC().Format(time.RFC3339), "title": o.Title})
	if err != nil {
		return Session{}, fmt.Errorf("cannot write the order: %w", err)
	}
	var reply struct{ ID, URL string }
	err = p.call(ctx, http.MethodPost, p.URL, o.ID+"/"+strconv.Itoa(o.Attempt), body, &reply)
	if err == nil {
		err = useful(reply.ID, reply.URL)
	}
	return Session{reply.ID, reply.URL}, err
}

// End deletes the payment.
func (p *Program) End(ctx context.Context, session string) error {
	address, err := url.JoinPath(p.URL, url.PathEscape(session))
	if err != nil {
		return err
	}
	err = p.call(ctx, http.MethodDelete, address, "", nil, nil)
	if status, ok := err.(answered); ok && (status == http.StatusNotFound || status == http.StatusConflict) {
		return nil // it has ended, or was made
	}
	return err
}

func (p *Program) call(ctx context.Context, method, address, key string, body []byte, reply any) error {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.Token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return send(r, reply)
}
