package payments

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/internal/webhook"
	"flashsale/redisx/held"
)

// Secrets verify the events of a provider. While one replaces another, both count.
type Secrets struct {
	Stripe bool // events have a Stripe-Signature, else they are signed by Standard Webhooks
	List   []string
}

// Read verifies and reads an event. told is false for an event that tells of no payment that was made: it is
// taken and has no effect. Errors: ErrForged, ErrStale, ErrMalform.
func (s Secrets) Read(header http.Header, body []byte, now time.Time) (r Receipt, told bool, err error) {
	if s.Stripe {
		if err := s.verifyStripe(header.Values("Stripe-Signature"), body, now); err != nil {
			return Receipt{}, false, err
		}
		return readStripe(body)
	}
	if err := s.verifyStandard(header, body, now); err != nil {
		return Receipt{}, false, err
	}
	return readStandard(header.Get(webhooks.HeaderWebhookID), body)
}

// verifyStandard checks a signature of Standard Webhooks 1.0.
func (s Secrets) verifyStandard(header http.Header, body []byte, now time.Time) error {
	for _, name := range []string{webhooks.HeaderWebhookID, webhooks.HeaderWebhookTimestamp,
		webhooks.HeaderWebhookSignature} {
		if len(header.Values(name)) != 1 {
			return fmt.Errorf("%w: it has no %s, or more than one", ErrForged, name)
		}
	}
	seconds, err := strconv.ParseInt(header.Get(webhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: it has no time", ErrForged)
	}
	for _, secret := range s.List {
		key, err := webhooks.NewWebhook(secret)
		if err == nil && key.VerifyIgnoringTimestamp(body, header) == nil {
			return fresh(seconds, now)
		}
	}
	return ErrForged
}

func fresh(seconds int64, now time.Time) error {
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return ErrStale
	}
	return nil
}

// verifyStripe checks a Stripe-Signature: "t=seconds,v1=hex,v1=hex", the HMAC-SHA256 of "seconds.body".
// Source: docs.stripe.com/webhooks/signature.
func (s Secrets) verifyStripe(signed []string, body []byte, now time.Time) error {
	if len(signed) != 1 {
		return ErrForged
	}
	var seconds string
	var given [][]byte
	for part := range strings.SplitSeq(signed[0], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			seconds = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil {
				given = append(given, sum)
			}
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return ErrForged
	}
	for _, secret := range s.List {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(seconds + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, sum := range given {
			if hmac.Equal(sum, want) {
				return fresh(at, now)
			}
		}
	}
	return ErrForged
}

// readStandard reads {"type":"payment.succeeded","data":{"payment_id":s,"order_id":s,"amount":n}}.
func readStandard(id string, body []byte) (r Receipt, told bool, err error) {
	var e struct {
		Type string
		Data struct {
			Payment string `json:"payment_id"`
			Order   string `json:"order_id"`
			Amount  *int64
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return r, false, fmt.Errorf("%w: %w", ErrMalform, err)
	}
	if e.Type != "payment.succeeded" {
		return r, false, nil
	}
	if e.Data.Amount == nil {
		return r, false, fmt.Errorf("%w: it has no amount", ErrMalform)
	}
	r = Receipt{id, e.Data.Order, e.Data.Payment, *e.Data.Amount}
	return r, true, r.check()
}

func (r *Receipt) check() error {
	if r.Order == "" || r.Amount < 0 || !held.IsID(r.Event) || !held.IsID(r.Payment) {
		return fmt.Errorf("%w: it names no order, an amount below 0, or has a strange id", ErrMalform)
	}
	return nil
}

// readStripe reads an event of Stripe Checkout.
func readStripe(body []byte) (r Receipt, told bool, err error) {
	var e struct {
		ID   string
		Type string
		Data struct {
			Object struct {
				ID            string
				Reference     string `json:"client_reference_id"`
				Amount        int64  `json:"amount_total"`
				Currency      string
				PaymentStatus string `json:"payment_status"`
			}
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return r, false, fmt.Errorf("%w: %w", ErrMalform, err)
	}
	switch e.Type {
	case "checkout.session.completed", "checkout.session.async_payment_succeeded":
	default:
		return r, false, nil
	}
	// The money comes later, or never; or it is for another program of the same account.
	o := &e.Data.Object
	if o.PaymentStatus != "paid" || o.Reference == "" {
		return r, false, nil
	}
	r = Receipt{e.ID, o.Reference, o.ID, fromStripe(o.Currency, o.Amount)}
	return r, true, r.check()
}

const stripeSecretLeast = 16 // characters of any kind

// CheckSecrets returns an error for a secret that can verify nothing.
func (s Secrets) CheckSecrets() error {
	if len(s.List) == 0 {
		return errors.New("a provider needs a secret that signs its events")
	}
	for _, secret := range s.List {
		if s.Stripe {
			if len(secret) < stripeSecretLeast {
				return fmt.Errorf("a secret has less than %d characters", stripeSecretLeast)
			}
			continue
		}
		if err := webhook.CheckSecret(secret); err != nil {
			return err
		}
	}
	return nil
}
