// Package load drives a sale as the contest's clients do.
//
// Many buyers at once, each order by another user, go through login, foods, cart, one to three adds, order,
// every request to a random server. In the closed loop a buyer begins when its last flow has ended. In the
// open loop flows start at their intended times, whatever the server does, and count from then
// (arrivals.go).
//
// It must not repeat a request silently, except that it dials again once, and counts, if a kept-alive
// connection is closed; with Retry it repeats and counts each request of unknown outcome (retry.go).
package load

import (
	"crypto/tls"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

// Limits of the options.
const (
	// buyers at once: each holds a goroutine, a buffer and a connection per server
	ConcurrencyMax = 100_000
	TimeoutMax     = 10 * time.Minute // of a request
	rateMax        = 1_000_000        // flows a second
)

// Style is one of the ways in which the contest's clients send requests.
type Style struct {
	TokenInQuery   bool // access_token in the query instead of the header Access-Token
	NewConnections bool // a connection for every request
	ContestBodies  bool // a body {} with the calls that need no body
}

// Options are the settings of a load.
type Options struct {
	Servers     []string    // host:port
	TLS         *tls.Config // nil = plain HTTP
	Concurrency int         // buyers at once
	Orders      int
	Duration    time.Duration // 0 = until all orders are done
	Rate        float64       // flows a second in the open loop; 0 = closed loop
	Timeout     time.Duration // per request
	Seed        uint64
	Style       Style
	Retry       bool
	Validation  *Validation     // nil = no comparison
	History     *history.Writer // nil = none; else the buyers also look at their orders and order again
	Hold        time.Duration   // of the sale, for the history; 0 = orders are final
	Root        catalog.User    // adds pieces while a history is written
	Restock     time.Duration   // between two restocks by root; 0 = none
}

// Register adds the flags of a load, except for the named ones, which the command sets itself.
func (o *Options) Register(fs *flag.FlagSet, without ...string) {
	var all flag.FlagSet
	o.register(&all)
	all.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(without, f.Name) {
			fs.Var(f.Value, f.Name, f.Usage)
		}
	})
}

func (o *Options) register(fs *flag.FlagSet) {
	fs.IntVar(&o.Concurrency, "concurrency", 1000, "buyers at once, `number`")
	fs.IntVar(&o.Orders, "orders", 10_000, "orders to try, each by another user; with -rate and "+
		"-duration as many as these take")
	fs.DurationVar(&o.Duration, "duration", 0, "end the load after this long; 0 = when all orders are done")
	fs.Float64Var(&o.Rate, "rate", 0, "open loop: start so many `flows` a second, whether the last ones "+
		"ended or not (-concurrency at once at most), and count each from its intended start")
	fs.DurationVar(&o.Timeout, "timeout", 10*time.Second, "longest wait for one request")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of every random choice; 0 = a random one, which is printed")
	fs.BoolVar(&o.Style.TokenInQuery, "token-in-query", false,
		"send the token as access_token in the query, not as a header")
	fs.BoolVar(&o.Style.NewConnections, "new-connections", false,
		"open a new connection for every request, which asks the server to close it")
	fs.BoolVar(&o.Style.ContestBodies, "contest-bodies", false, "send {} with GET /foods and POST /carts")
	fs.BoolVar(&o.Retry, "retry", false, "send orders with an Idempotency-Key, and again whatever got no "+
		"answer or a 503; the audit then wants one order of each user who was not refused")
}

// Resolve fills in the seed and the number of orders if they were not given, and checks the limits. given
// are the flags on the command line. Its errors are an ErrUsage.
func (o *Options) Resolve(given map[string]bool) error {
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if !given["orders"] && o.Rate > 0 && o.Duration > 0 {
		o.Orders = int(math.Ceil(o.Rate * o.Duration.Seconds()))
	}
	switch {
	case o.Concurrency < 1 || o.Concurrency > ConcurrencyMax:
		return fmt.Errorf("%w: -concurrency %d is not within 1 to %d", sale.ErrUsage, o.Concurrency,
			ConcurrencyMax)
	case o.Duration < 0:
		return fmt.Errorf("%w: -duration %v is negative", sale.ErrUsage, o.Duration)
	case !(o.Rate >= 0 && o.Rate <= rateMax):
		return fmt.Errorf("%w: -rate %v is not within 0 to %d", sale.ErrUsage, o.Rate, rateMax)
	case o.Orders < 1:
		return fmt.Errorf("%w: -orders %d is less than 1", sale.ErrUsage, o.Orders)
	case o.Timeout <= 0 || o.Timeout > TimeoutMax:
		return fmt.Errorf("%w: -timeout %v is not within 0 to %v", sale.ErrUsage, o.Timeout, TimeoutMax)
	}
	return nil
}
