package redisx

import "strconv"

// Every key of the sale while it sells; turnover/keys.go has those of sales that have ended:
//
//	sale           hash    id, catalog (fingerprint),                  for ever    new_sale.lua, open.lua,
//	                       server (fingerprints, see open.lua);                     orderstream
//	                       ledger "filling" or "on" when it keeps one;
//	                       opens_at, closes_at, paused, closed, state;              states.lua,
//	                       hold (ms), if orders are held;                           new_sale.lua
//	                       previous (ids of the sales before),                      state_change.lua
//	                       exporting, exported and others, next_id and              turnover/keys.go
//	                       others
//	stock_<sale>   hash    food id -> pieces left; "+" food id ->       for ever    new_sale.lua, order.lua,
//	                       pieces restocked; "!" food id -> sold                    restock.lua,
//	                       out since (Unix ms); "~" food id ->                      sold_out.lua,
//	                       pieces of held orders; sold_out -> how                   order_held.lua,
//	                       many foods are; orders -> how many were                  held/shared.lua
//	                       placed; note
//	gate_<sale>    string  closes_at, "" for none; it is there while    closes_at   states.lua, order.lua
//	                       the sale is open
//	log_<sale>     stream  every change of state, times and stock,      for ever    new_sale.lua, states.lua,
//	                       and when all was sold out                                state_change.lua,
//	                                                                                restock.lua,
//	                                                                                sold_out.lua
//	c_<cart>       string  list of changes, see cart_rules.lua          -cart-ttl   cart.go, order.lua
//	               hash    the same, settled: changes, items            -cart-ttl   cart_check.lua, order.lua
//	o_<user>       string  "food:count,food:count,", "|", the client's  for ever    order.lua
//	                       Idempotency-Key if it sent one, a line
//	                       feed, when it was placed (Unix ms)
//	orders_<sale>  stream  user, items of each order that is not in     for ever    order.lua, orderstream,
//	                       the ledger yet; only where one is kept.                  event.lua
//	                       user, number of a held one that has changed
//	holds_<sale>   zset    user -> when the hold of the order ends;     for ever    order_held.lua,
//	                       this and the next three only with -hold                  held/shared.lua
//	released_<sale>
//	               hash    "user-number" -> an order that was           for ever    held/shared.lua,
//	                       released; user -> how many orders the user               held/ended.lua
//	                       has had
//	payments_<sale>
//	               hash    id -> user, number, amount, state            for ever    held/shared.lua
//	refunds_<sale> zset    payments to give back -> since when; done:   for ever    held/shared.lua
//	                       below 0
//	events_<sale>  stream  what happened to orders, see event.lua;      see rooms/  event.lua,
//	                       only with -hold or -webhooks                 events      held/ended.lua
//	used_<sale>    hash    "h:household", "c:coupon" -> user-number     for ever    order_rules.lua,
//	                       of the order that has used it; how many                  held/shared.lua
//	                       there are; only with rules
//	fence          string  empty; written with -ack replica or disk     for ever    pipeline/ack.go
//	restock_<sale>_<key>
//	               string  "food:add:left": what a restock under that  a day       restock.lua
//	                       Idempotency-Key has become
//
// <cart> is the name inside a cart ID (16 characters that carry user and nonce), <sale> the random id of the
// sale. The keys of stock and gate carry that id, so the order script need not read the marker: in a Redis
// that has lost the sale, or holds another one, it finds no stock and sells nothing.
//
// In a sale with several slices, and in a cluster, every key but the marker of the home slice ends with the
// hash tag of its slice, as in o_17{42}. Each slice has all of these keys:
//
//	sale           hash    also: slices (how many), filling (1 until all    for ever    open.lua, filled.lua,
//	                       have their stock), revision (of state and times)             state_change.lua
//	sale{<tag>}    hash    id, revision, and the fields of states.lua       for ever    fill.lua, follow.lua
//	stock_<sale>{<tag>}    also "<", ">", "<" slice, ">" slice, "=" slice:    for ever    transfer_*.lua
//	                       transfers
const (
	MarkerKey   = "sale" // marker of the one sale that Redis holds
	stockPrefix = "stock_"
	cartPrefix  = "c_"
	orderPrefix = "o_"
	gatePrefix  = "gate_"
	logPrefix   = "log_"

	fenceKey      = "fence"
	streamPrefix  = "orders_"
	restockPrefix = "restock_"
)

// StreamGroup is the consumer group of the stream of orders.
const StreamGroup = "ledger"

// Keys are the keys that the scripts of a slice share, and the hash tag of the slice.
type Keys struct {
	Marker, Stock, Gate, Log, Stream, Tag      string
	Fence                                      string // see pipeline.Options: answers about orders must last
	Holds, Released, Payments, Refunds, Events string // of held orders
	Used                                       string // what orders have used, see order_rules.lua
	Past                                       string // orders once the sale has ended, see turnover/keys.go
}

// KeysOf returns the keys of a slice of the sale with the id.
func (c *Config) KeysOf(id string, slice int) Keys {
	tag := c.tag(slice)
	k := Keys{Marker: MarkerKey, Stock: stockPrefix + id + tag, Gate: gatePrefix + id + tag,
		Log: logPrefix + id + tag, Stream: streamPrefix + id + tag, Tag: tag, Fence: fenceKey + tag,
		Holds: "holds_" + id + tag, Released: "released_" + id + tag, Payments: "payments_" + id + tag,
		Refunds: "refunds_" + id + tag, Events: "events_" + id + tag,
		Used: "used_" + id + tag, Past: "past_" + id + tag}
	if slice > 0 {
		k.Marker += tag
	}
	return k
}

// The fields of the stock hash other than the pieces left of a food.
const (
	ordersField     = "orders"
	restockedPrefix = "+"
	soldOutPrefix   = "!"
	soldOutField    = "sold_out"
	heldPrefix      = "~" // pieces of held orders
)

// cart appends the key of a cart with that name.
func (k *Keys) cart(dst, name []byte) []byte {
	dst = append(append(dst, cartPrefix...), name...)
	return append(dst, k.Tag...)
}

// Order is the key of a user's order.
func (k *Keys) Order(user uint32) string { return string(k.order(nil, user)) }

// order appends the key of a user's order.
func (k *Keys) order(dst []byte, user uint32) []byte {
	dst = strconv.AppendUint(append(dst, orderPrefix...), uint64(user), 10)
	return append(dst, k.Tag...)
}
