package payment

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

const (
	twice       = 0.05             // share of the events that are sent twice
	releaseLook = time.Second / 4  // between two looks at an order whose hold ends
	releaseMax  = 30 * time.Second // that an order may take to be released when its hold has ended
)

// Report is what was done about the held orders of a load.
type Report struct {
	HoldSeconds float64 `json:"hold_seconds"`
	GivenBack   int     `json:"given_back"`
	Paid        int     `json:"paid"`      // while they were held
	PaidLate    int     `json:"paid_late"` // perhaps after their hold had ended
	Left        int     `json:"left"`      // nothing was done
	Failed      int     `json:"failed"`
	Events      int64   `json:"events"` // that were taken
	Doubled     int64   `json:"events_doubled"`
}

// Payer ends held orders, or leaves them to the end of their hold.
type Payer struct {
	*caller
	opt             Options
	hold            time.Duration
	seed            uint64
	events, doubled atomic.Int64
}

// Open makes a Payer for a sale that holds orders, nil for another one. If orders shall be ended it refuses,
// as an ErrUsage, a sale without holds, one whose holds are too long for -late, and a server that does not
// take events with this secret; for a history also a sale with held orders.
func Open(ctx context.Context, opt Options, servers []string, encrypt *tls.Config, timeout time.Duration,
	seed uint64) (*Payer, error) {
	p := &Payer{caller: newCaller(servers, encrypt, timeout), opt: opt, seed: seed}
	p.history = opt.History
	var of struct {
		HoldSeconds int64 `json:"hold_seconds"`
		PiecesHeld  int64 `json:"pieces_held"`
	}
	_, err := p.ask(ctx, call{method: "GET", path: "/sale"}, &of)
	p.hold = time.Duration(of.HoldSeconds) * time.Second
	switch {
	case p.hold == 0 && !opt.On(): // a server of the contest may answer anything
		return nil, nil
	case err != nil:
		return nil, unreachable("/sale", err)
	case p.hold == 0:
		return nil, fmt.Errorf("%w: the sale holds no orders: -cancel, -pay and -late need a server with -hold",
			sale.ErrUsage)
	case opt.Late > 0 && p.hold > opt.LateWait:
		return nil, fmt.Errorf("%w: the sale holds orders for %v, and -late waits for the end of %v at most; "+
			"start the server with a shorter -hold, or give -late-wait", sale.ErrUsage, p.hold, opt.LateWait)
	case opt.History != nil && of.PiecesHeld > 0:
		return nil, fmt.Errorf("%w: %d pieces are held, and -history cannot tell when they come back; begin when "+
			"their holds have ended", sale.ErrUsage, of.PiecesHeld)
	}
	if !opt.pays() {
		return p, nil
	}
	if p.key, err = webhooks.NewWebhook(opt.Secret); err != nil {
		return nil, err
	}
	return p, p.greet(ctx)
}

// Hold is how long the sale holds orders, 0 if the Payer is nil.
func (p *Payer) Hold() time.Duration {
	if p == nil {
		return 0
	}
	return p.hold
}

// greet sends an event that tells of no payment.
func (p *Payer) greet(ctx context.Context) error {
	status, err := p.tell(ctx, p.name("hello"), map[string]string{"type": "bench.hello"}, history.Event{})
	switch {
	case err != nil:
		return unreachable("/payments/events", err)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: the server takes no payments: -pay and -late need one with -payment", sale.ErrUsage)
	case status/100 != 2:
		return fmt.Errorf("%w: the server answers an event with %d; -payment-secret must be one of its "+
			"-payment-secrets", sale.ErrUsage, status)
	}
	return nil
}

// name is the name of a thing of this run.
func (p *Payer) name(what string) string {
	return "bench-" + strconv.FormatUint(p.seed, 36) + "-" + what
}

// order is an order that is ended.
type order struct {
	*sale.Ending
	user catalog.User
	food int64 // one that was ordered
}

// End ends the orders of a load that began at that time. Late payments come last: each waits until its order
// is released. When ctx ends the orders that are not ended yet are left.
func (p *Payer) End(ctx context.Context, began time.Time, s *sale.Sale, attempts []sale.Attempt) (
	[]sale.Ending, *Report) {
	endings, orders := p.choose(s, attempts)
	inParallel(ctx, orders[sale.GivenBack], p.giveBack)
	inParallel(ctx, orders[sale.Paid], func(ctx context.Context, o order) {
		p.pay(ctx, o)
		if o.End == sale.Paid && time.Since(began) >= p.hold { // the first hold may have ended meanwhile
			o.End = sale.PaidLate
		}
	})
	inParallel(ctx, orders[sale.PaidLate], p.payLate)

	var count [sale.Failed + 1]int
	for i := range endings {
		count[endings[i].End]++
	}
	return endings, &Report{HoldSeconds: p.hold.Seconds(), GivenBack: count[sale.GivenBack],
		Paid: count[sale.Paid], PaidLate: count[sale.PaidLate], Left: count[sale.Left],
		Failed: count[sale.Failed], Events: p.events.Load(), Doubled: p.doubled.Load()}
}

// choose picks the end of each placed order by the seed. One whose price is not known, because the server
// may have seen an add twice, is not paid.
func (p *Payer) choose(s *sale.Sale, attempts []sale.Attempt) ([]sale.Ending, map[sale.End][]order) {
	users := make(map[uint32]catalog.User, len(s.Users))
	for _, u := range s.Users {
		users[u.ID] = u
	}
	endings := make([]sale.Ending, 0, len(attempts)) // orders point into it
	orders := map[sale.End][]order{}
	dice := rand.New(rand.NewPCG(p.seed, 0))
	for i := range attempts {
		try := &attempts[i]
		if try.Outcome != sale.Placed {
			continue
		}
		endings = append(endings, sale.Ending{OrderID: try.OrderID, UserID: try.UserID})
		o := order{&endings[len(endings)-1], users[try.UserID], try.Foods[0]}
		for _, id := range try.Foods[:try.Adds] {
			food, _ := s.Food(id)
			o.Amount += food.Price
		}
		end := p.pick(dice)
		if try.Twice != [sale.PiecesMax]bool{} && end != sale.GivenBack {
			end = sale.Left
		}
		orders[end] = append(orders[end], o)
	}
	return endings, orders
}

func (p *Payer) pick(dice *rand.Rand) sale.End {
	back, paid := dice.Float64() < p.opt.Cancel, dice.Float64()
	switch {
	case back:
		return sale.GivenBack
	case paid < p.opt.Pay:
		return sale.Paid
	case paid < p.opt.Pay+p.opt.Late:
		return sale.PaidLate
	}
	return sale.Left
}

// inParallel calls do with each order, a few at a time, until ctx ends.
func inParallel(ctx context.Context, orders []order, do func(context.Context, order)) {
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(parallel, len(orders)) {
		working.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(orders) {
					return
				}
				do(ctx, orders[i])
			}
		})
	}
	working.Wait()
}
