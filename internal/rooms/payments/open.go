package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/internal/observe/figures"
	"flashsale/redisx"
	"flashsale/redisx/held"
)

// Limits of a worker.
const (
	openMax   = 64   // payments that are being opened
	endQueue  = 1000 // payments that wait to be ended; more are not ended, see Payments.End
	enders    = 4    // goroutines that end them
	endTries  = 5
	endPause  = time.Second // after the first try; twice as long after each other
	endLonger = 16 * time.Second
)

// ErrBusy means that too many payments are being opened, or one for this user.
var ErrBusy = errors.New("too many payments are being opened")

// Config of Payments.
type Config struct {
	Orders   *held.Orders
	Sale     string
	Previous func() ([]string, error) // ids of the sales before this one
	Provider Provider
	Secrets  Secrets
	Session  time.Duration // that a payment may take, or the provider's least
	Currency string
	Price    func(food int64) int64
	Title    func(items []redisx.Item) string // what the buyer reads at the provider
	Figures  *figures.Worker
}

// Payments opens payments for held orders, and stores what the provider tells of them. Its methods are safe
// for concurrent use; Open and Receive wait for Redis, and Open for the provider.
type Payments struct {
	cfg     Config
	secrets atomic.Pointer[Secrets]

	mu      sync.Mutex
	opening map[uint32]bool // users with a payment that is being opened

	ends chan string
	pace logpace.Pace
}

// New makes Payments.
func New(cfg Config) *Payments {
	cfg.Session = max(cfg.Session, cfg.Provider.Least()) // so that the hold lasts as long as the first payment
	p := &Payments{cfg: cfg, opening: map[uint32]bool{}, ends: make(chan string, endQueue)}
	p.Use(cfg.Secrets)
	return p
}

// Use verifies events by other secrets from now on.
func (p *Payments) Use(s Secrets) { p.secrets.Store(&s) }

// Opened is a payment that the buyer can make.
type Opened struct {
	Session
	Amount   int64
	Currency string
	Till     time.Time // when the hold of the order ends
}

// Open opens a payment for an order; the one before is ended. An order that costs nothing is paid at once,
// and the Opened has no URL. Errors: ErrBusy, ErrProvider, held.ErrNone, held.ErrPaid, held.ErrTooMany,
// redisx.ErrUnavailable.
func (p *Payments) Open(ctx context.Context, id held.ID) (o Opened, err error) {
	if !p.enter(id.User) {
		return o, ErrBusy
	}
	defer p.leave(id.User)
	begun, err := p.cfg.Orders.Pay(id, p.cfg.Session)
	if err != nil {
		return o, err
	}
	p.End(begun.Before)
	o = Opened{Amount: p.costs(begun.Items), Currency: p.cfg.Currency, Till: begun.Till}
	name := string(redisx.AppendOrderID(nil, p.cfg.Sale, id.User, id.Number))
	if o.Amount == 0 {
		o.ID = "free-" + name
		_, err := p.cfg.Orders.Paid(id, held.Receipt{Payment: o.ID, Items: begun.Items})
		return o, err
	}
	o.Session, err = p.cfg.Provider.Open(ctx, Order{ID: name, Attempt: begun.Attempt, Amount: o.Amount,
		Currency: p.cfg.Currency, Begun: begun.Begun, Till: begun.Till, Title: p.cfg.Title(begun.Items)})
	if err != nil {
		return Opened{}, p.failed(id, begun.Attempt, err)
	}
	payable, err := p.cfg.Orders.Payable(id, begun.Attempt, o.ID, o.Amount)
	switch {
	case errors.Is(err, held.ErrBadID):
		return Opened{}, p.failed(id, begun.Attempt, fmt.Errorf("%w: %w", ErrProvider, err))
	case err != nil: // the same payment comes when the buyer tries again
		return Opened{}, err
	case !payable: // released, paid, or another payment is open since
		p.End(o.ID)
		return Opened{}, held.ErrNone
	}
	p.cfg.Figures.PaymentsOpened.Inc()
	return o, nil
}

func (p *Payments) enter(user uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opening[user] || len(p.opening) >= openMax {
		return false
	}
	p.opening[user] = true
	return true
}

func (p *Payments) leave(user uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.opening, user)
}

func (p *Payments) costs(items []redisx.Item) (sum int64) {
	for _, item := range items {
		sum += p.cfg.Price(item.Food) * item.Count
	}
	return sum
}

// failed notes that the provider has opened no payment. Where it may have opened one after all, the next
// call asks for the same one.
func (p *Payments) failed(id held.ID, attempt int, err error) error {
	p.cfg.Figures.PaymentFailures.Inc()
	if n := p.pace.Due(time.Now()); n > 0 {
		slog.Warn("payments are not opened", "failed", n, "error", err)
	}
	if certain(err) {
		return errors.Join(err, p.cfg.Orders.Unpayable(id, attempt))
	}
	return err
}

// certain reports whether the same call can bring no payment: the provider has refused it, or its answer is
// of no use.
func certain(err error) bool {
	status := answered(0)
	if !errors.As(err, &status) {
		return errors.Is(err, held.ErrBadID) || errors.Is(err, errUseless)
	}
	switch status {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return false
	}
	return true
}

// End ends a payment at the provider, "" is none, without waiting. A payment that cannot be ended is made
// all the same at worst: then its order is sold again, or the money is given back.
func (p *Payments) End(payment string) {
	if payment == "" || strings.HasPrefix(payment, "free-") {
		return
	}
	select {
	case p.ends <- payment:
	default:
		slog.Warn("a payment is not ended: too many wait", "payment", payment)
	}
}

// Run ends payments until ctx ends, and returns nil then.
func (p *Payments) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for range enders {
		running.Go(func() {
			for {
				select {
				case payment := <-p.ends:
					p.end(ctx, payment)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	running.Wait()
	return nil
}

func (p *Payments) end(ctx context.Context, payment string) {
	for try := 1; ; try++ {
		err := p.cfg.Provider.End(ctx, payment)
		if err == nil {
			return
		}
		if try == endTries || !background.Pause(ctx, background.Delay(try, endPause, endLonger)) {
			slog.Warn("a payment is not ended", "payment", payment, "error", err)
			return
		}
	}
}
