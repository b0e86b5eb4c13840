package config

import (
	"fmt"
	"time"

	"flashsale/redisx"
)

type saleFlags struct {
	Sale             string // id of the one to join, "" for any: it is opened if need be
	SnapshotInterval time.Duration
}

func (c *saleFlags) add(f *Flags, redis *redisx.Config) {
	f.Group("Sale")
	f.Text(&c.Sale, "sale", "",
		"`id` of the sale to join: the start fails if Redis does not hold it, and no other is opened; "+
			"an empty SALE is refused")
	f.refuseEmpty("sale", "name a sale, or leave it out to join or open any")
	f.Time(&redis.CartTTL, "cart-ttl", time.Hour, time.Second, 365*24*time.Hour,
		"`time` a cart lives from its first piece on, in whole seconds")
	f.Check(func() error {
		if redis.CartTTL%time.Second != 0 {
			return fmt.Errorf("%s is %v; it must be a whole number of seconds", f.source("cart-ttl"), redis.CartTTL)
		}
		return nil
	})
	f.Time(&c.SnapshotInterval, "snapshot-interval", 200*time.Millisecond, time.Millisecond, time.Second,
		"`time` between two looks at the stock for GET /foods")
}
