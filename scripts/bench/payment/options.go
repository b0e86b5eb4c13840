// Package payment ends the held orders of a load: buyers give some back, and it plays the provider of
// payments that tells the server that others were paid, in time or too late.
//
// It begins when the load has ended, so that it costs the load nothing. It sends each call until it is
// answered, as buyers and providers do.
package payment

import (
	"flag"
	"fmt"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

// Options are the shares of the orders that end in each way; without any of them nothing is done.
type Options struct {
	Cancel float64 // of all orders: given back
	Pay    float64 // of the others: paid in time
	Late   float64 // of the others: paid when the hold has ended

	LateWait time.Duration // the longest hold whose end is awaited
	Secret   string        // signs the events

	History *history.Writer // of the load; nil: none
}

// Register adds the flags.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.Float64Var(&o.Cancel, "cancel", 0, "with a server with -hold: the `share` of the orders that their "+
		"buyers give back after the load")
	fs.Float64Var(&o.Pay, "pay", 0, "the `share` of the other orders that are paid after the load, by signed "+
		"events; needs -payment-secret")
	fs.Float64Var(&o.Late, "late", 0, "the `share` of the other orders that are paid when their hold has ended")
	fs.DurationVar(&o.LateWait, "late-wait", 2*time.Minute, "longest hold whose end -late waits for")
	fs.StringVar(&o.Secret, "payment-secret", "", "a `secret` of the server's -payment-secrets")
}

// On reports whether any order shall be ended.
func (o *Options) On() bool { return o.Cancel > 0 || o.pays() }

func (o *Options) pays() bool { return o.Pay > 0 || o.Late > 0 }

// Resolve checks the options. Its errors are an ErrUsage.
func (o *Options) Resolve() error {
	for name, share := range map[string]float64{"cancel": o.Cancel, "pay": o.Pay, "late": o.Late} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%w: -%s %v is not within 0 to 1", sale.ErrUsage, name, share)
		}
	}
	if o.Pay+o.Late > 1 {
		return fmt.Errorf("%w: -pay %v and -late %v are more than all orders", sale.ErrUsage, o.Pay, o.Late)
	}
	if o.pays() != (o.Secret != "") {
		return fmt.Errorf("%w: -pay and -late need -payment-secret, and it needs one of them", sale.ErrUsage)
	}
	if o.Secret != "" {
		if _, err := webhooks.NewWebhook(o.Secret); err != nil {
			return fmt.Errorf("%w: -payment-secret is not whsec_ and base64", sale.ErrUsage) // never shown
		}
	}
	return nil
}
