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

// stripeUnit is how Stripe writes the amounts of a currency: that in minor units of ISO 4217 must be a
// multiple of per, and is multiplied by times/per.
type stripeUnit struct{ times, per int64 }

// stripeUnits are the currencies whose amounts at Stripe differ from ISO 4217. Source:
// docs.stripe.com/currencies, "Zero-decimal currencies", "Special cases" and "Three-decimal currencies".
var stripeUnits = map[string]stripeUnit{
	// Without decimals, and written with two.
	"ISK": {100, 1}, "UGX": {100, 1},
	// With two decimals, and written without.
	"MGA": {1, 100},
	// With three decimals, of which the last one must be 0.
	"BHD": {10, 10}, "JOD": {10, 10}, "KWD": {10, 10}, "OMR": {10, 10}, "TND": {10, 10},
}

func stripeUnitOf(currency string) stripeUnit {
	if unit, differs := stripeUnits[strings.ToUpper(currency)]; differs {
		return unit
	}
	return stripeUnit{1, 1}
}

// ToStripe returns an amount of minor units as Stripe writes it; an error for one that Stripe cannot charge.
func ToStripe(currency string, amount int64) (int64, error) {
	unit := stripeUnitOf(currency)
	if amount%unit.per != 0 {
		return 0, fmt.Errorf("%d minor units of %s: Stripe charges only multiples of %d", amount, currency,
			unit.per)
	}
	return amount / unit.per * unit.times, nil
}

// fromStripe is the reverse of ToStripe.
func fromStripe(currency string, amount int64) int64 {
	unit := stripeUnitOf(currency)
	return amount * unit.per / unit.times
}

// Open opens a Checkout Session. The idempotency key is the order's attempt. Stripe takes no session that
// ends sooner than StripeLeast from now, so that of a later attempt may outlive the hold; nor one that ends
// later than StripeMost from now, so that of a long hold may end before it.
func (s *Stripe) Open(ctx context.Context, o Order) (Session, error) {
	amount, err := ToStripe(o.Currency, o.Amount)
	if err != nil {
		return Session{}, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	expires := o.Till
	if soonest := o.Begun.Add(s.Least()); expires.Before(soonest) {
		expires = soonest
	}
	if latest := o.Begun.Add(StripeMost - stripeMargin); expires.After(latest) {
		expires = latest
	}
	form := url.Values{
		"mode": {"payment"}, "client_reference_id": {o.ID}, "success_url": {s.Return}, "cancel_url": {s.Return},
		"expires_at":                                    {strconv.FormatInt(expires.Unix(), 10)},
		"line_items[0][quantity]":                       {"1"},
		"line_items[0][price_data][currency]":           {strings.ToLower(o.Currency)},
		"line_items[0][price_data][unit_amount]":        {strconv.FormatInt(amount, 10)},
		"line_items[0][price_data][product_data][name]": {cmp.Or(o.Title, o.ID)},
	}
	var reply struct{ ID, URL string }
	err = s.call(ctx, "/v1/checkout/sessions", o.ID+"/"+strconv.Itoa(o.Attempt), form, &reply)
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

// Least is what Stripe takes, and the margin.
func (s *Stripe) Least() time.Duration { return StripeLeast + stripeMargin }

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

// Least is nothing: the program gets the time and may do with it what it likes.
func (p *Program) Least() time.Duration { return 0 }

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
