package config

import (
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
		"`id` of the sale to join: the start fails if Redis does not hold it, and no other is opened")
	f.Time(&redis.CartTTL, "cart-ttl", time.Hour, time.Second, 365*24*time.Hour,
		"`time` a cart lives from its first piece on")
	f.Time(&c.SnapshotInterval, "snapshot-interval", 200*time.Millisecond, time.Millisecond, time.Second,
		"`time` between two looks at the stock for GET /foods")
}
