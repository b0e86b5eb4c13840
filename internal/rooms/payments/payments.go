// Package payments speaks to the provider of payments: it opens a payment for a held order, ends one that
// another replaces, and reads what the provider tells of payments (events). It decides nothing about orders:
// redisx/held does. A provider is Stripe Checkout, or any program with the small API of the README.
package payments

import (
	"context"
	"errors"
	"time"
)

// Order is an order that shall be paid.
type Order struct {
	ID       string
	Attempt  int // which payment of the order this is, from 1; a repeated call with it opens no second one
	Amount   int64
	Currency string    // ISO 4217, "" for a catalogue without
	Begun    time.Time // when it was first asked for
	Till     time.Time // when the hold of the order ends
	Title    string    // what the buyer reads at the provider
}

// Session is a payment that the buyer can make at the provider.
type Session struct {
	ID  string
	URL string // where the buyer pays
}

// Provider opens and ends payments. Errors: ErrProvider, wrapped with what it answered.
type Provider interface {
	Open(ctx context.Context, o Order) (Session, error)
	// Least is the shortest time in which the provider lets a payment end.
	Least() time.Duration
	// End ends a payment that was not made. It is no error if that one has ended, or was made: then its event
	// tells so.
	End(ctx context.Context, session string) error
}

// errUseless is an answer that names no payment that can be made; it is an ErrProvider, too.
var errUseless = errors.New("its answer names no payment with an http or https URL")

// Outcomes of a call.
var (
	ErrProvider = errors.New("the provider of payments does not answer as it should")
	ErrForged   = errors.New("the event is not signed by the provider")
	ErrStale    = errors.New("the event was signed too long ago")
	ErrMalform  = errors.New("the event cannot be read")
)

// Receipt is what an event tells of a payment that was made.
type Receipt struct {
	Event   string // its id
	Order   string
	Payment string // id of the session
	Amount  int64
}

// tolerance is how far the time of a signature may be from now, as Standard Webhooks and Stripe propose.
const tolerance = 5 * time.Minute
