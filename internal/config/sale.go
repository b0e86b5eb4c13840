package config

import (
	"fmt"
	"time"

	"flashsale/redisx"
)

type saleFlags struct {
	Sale             string       // id of the sale to join; "" joins or opens any
	Times            redisx.Times // of the sale, if this server opens it
	SnapshotInterval time.Duration
}

func (c *saleFlags) add(f *Flags, redis *redisx.Config) {
	f.Group("Sale")
	f.Text(&c.Sale, "sale", "",
		"`id` of the sale to join, or of an earlier sale of the same Redis: the start fails if Redis holds no "+
			"such sale; an empty SALE is refused")
	f.refuseEmpty("sale", "name a sale, or leave it out to join or open any")
	f.Moment(&c.Times.OpensAt, "opens-at", "`time` at which a new sale opens, with a zone, such as "+
		"2026-11-22T10:00:00+01:00; by the clock of Redis (default: at once)")
	f.Moment(&c.Times.ClosesAt, "closes-at", "`time` at which a new sale closes, as -opens-at (default: never)")
	f.Check(func() error {
		if opens, closes := c.Times.OpensAt, c.Times.ClosesAt; !closes.IsZero() && !closes.After(opens) {
			return fmt.Errorf("%s is not after %s", f.source("closes-at"), f.source("opens-at"))
		}
		return nil
	})
	f.Time(&redis.CartTTL, "cart-ttl", time.Hour, time.Second, 365*24*time.Hour,
		"`time` a cart lives from its first piece on, in whole seconds")
	f.Check(func() error {
		if redis.CartTTL%time.Second != 0 {
			return fmt.Errorf("%s is %v; it must be a whole number of seconds", f.source("cart-ttl"), redis.CartTTL)
		}
		return nil
	})
	f.Time(&redis.Hold, "hold", 0, 0, 7*24*time.Hour,
		"`time` an order is held until it is paid, in whole seconds, not less than what the provider of payments "+
			"gives a buyer; 0: orders are final at once. A sale keeps the time with which it was opened")
	f.Check(func() error {
		if redis.Hold%time.Second != 0 {
			return fmt.Errorf("%s is %v; it must be a whole number of seconds", f.source("hold"), redis.Hold)
		}
		return nil
	})
	f.Time(&c.SnapshotInterval, "snapshot-interval", 200*time.Millisecond, time.Millisecond, time.Second,
		"`time` between two readings of the stock for GET /foods")
}
