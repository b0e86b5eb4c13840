package redisx

import "strconv"

// Every key of the sale:
//
//	sale           hash    id, catalog (fingerprint), opened (Unix s);  for ever    open.lua,
//	                       server (fingerprints, see open.lua);                     stream_open.lua
//	                       ledger "filling" or "on" when it keeps one;
//	                       opens_at, closes_at, paused, closed, state;              state.lua, turn.lua
//	                       previous (ids of the sales before);                      open.lua
//	                       exporting, exported (Unix ms), exported_orders,          export.lua
//	                       exported_users;
//	                       next_id and others while the next one is opened          next_begin.lua
//	stock_<sale>   hash    food id -> pieces left; "+" food id ->       for ever    open.lua, order.lua,
//	                       pieces restocked; orders -> how many                     restock.lua
//	                       were placed; note
//	gate_<sale>    string  closes_at, "" for none; it is there while    closes_at   state.lua, order.lua
//	                       the sale is open
//	log_<sale>     stream  every change of state, times and stock       for ever    open.lua, turn.lua,
//	                                                                                restock.lua, state.lua
//	c_<cart>       string  list of changes, see changes.lua             -cart-ttl   cart.go, order.lua
//	               hash    the same, settled: changes, items            -cart-ttl   cart_check.lua, order.lua
//	o_<user>       string  "food:count,food:count,", "|", the client's  for ever    order.lua
//	                       Idempotency-Key if it sent one, a line
//	                       feed, when it was placed (Unix ms)
//	orders_<sale>  stream  user, items of each order that is not in     for ever    stream_open.lua,
//	                       the ledger yet; only where one is kept                   order.lua, stream_done.lua
//	restock_<sale>_<key>
//	               string  "food:add:left": what a restock under that  a day       restock.lua
//	                       Idempotency-Key has become
//	prices_<sale>  list    prices of an exported sale, see numbers.go   for ever    export.lua
//	next_<sale>    list    stock of the sale that is being opened       until then  next_begin.lua, open.lua
//
// A sale that has ended; its log and its prices stay where they are. Of a deleted one only the log stays:
//
//	sale_<sale>    hash    its marker                                   for ever    open.lua
//	left_<sale>    hash    its stock                                    for ever    next_begin.lua
//	past_<sale>    hash    user -> order, as in o_<user>                for ever    next_move.lua
//
// <cart> is the name inside a cart ID (16 characters that carry user and nonce), <sale> the random id of
// the sale. The keys of the stock and of the gate carry that id, so the order script needs no look at the
// marker: in a Redis that lost the sale, or holds another one, it finds no stock and sells nothing.
const (
	saleKey     = "sale"
	stockPrefix = "stock_"
	cartPrefix  = "c_"
	orderPrefix = "o_"
	gatePrefix  = "gate_"
	logPrefix   = "log_"

	restockPrefix = "restock_"

	keptMarkerPrefix = "sale_"
	keptStockPrefix  = "left_"
	keptOrdersPrefix = "past_"
	pricesPrefix     = "prices_"
	nextStockPrefix  = "next_"

	streamPrefix = "orders_"
	streamGroup  = "ledger" // the one consumer group of the stream
)

// The fields of the stock that are not the pieces left of a food.
const (
	ordersField     = "orders"
	restockedPrefix = "+"
)

func appendCartKey(dst, name []byte) []byte {
	dst = append(dst, cartPrefix...)
	return append(dst, name...)
}

func appendOrderKey(dst []byte, user uint32) []byte {
	dst = append(dst, orderPrefix...)
	return strconv.AppendUint(dst, uint64(user), 10)
}
