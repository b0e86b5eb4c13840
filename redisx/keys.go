package redisx

import "strconv"

// Every key of the sale:
//
//	sale          hash    id, catalog (fingerprint), opened (Unix s);  for ever   open.lua,
//	                      server (fingerprints, see open.lua);                    stream_open.lua
//	                      ledger "filling" or "on" when it keeps one;
//	                      previous (ids of the sales before);                 open.lua
//	                      exporting, exported (Unix ms),                      export.lua
//	                      exported_orders; next_id and others         next_begin.lua
//	                      while the next sale is being opened
//	stock_<sale>  hash    food id -> pieces left; note                 for ever   open.lua, order.lua
//	c_<cart>      string  list of changes, see changes.lua             -cart-ttl  cart.go, order.lua
//	              hash    the same, settled: changes, items            -cart-ttl  cart_check.lua, order.lua
//	o_<user>      string  "food:count,food:count,"; then "|" and the   for ever   order.lua
//	                      client's Idempotency-Key, if it sent one
//	orders_<sale> stream  user, items of each order that is not in     for ever   stream_open.lua,
//	                      the ledger yet; only where one is kept                  order.lua, stream_done.lua
//	gate_<sale>   string  the sale is open                             see state  next_begin.lua
//	prices_<sale> list    prices of an exported sale, see numbers.go   for ever   export.lua
//	next_<sale>   list    stock of the sale that is being opened       for ever   next_begin.lua, open.lua
//
// A sale that has ended, unless it was deleted:
//
//	sale_<sale>   hash    its marker                                   for ever   open.lua
//	left_<sale>   hash    its stock                                    for ever   next_begin.lua
//	past_<sale>   hash    user -> order, as in o_<user>                for ever   next_move.lua
//
// <cart> is the name inside a cart ID (16 characters that carry user and nonce), <sale> the random id of
// the sale. The stock's key carries that id, so the order script needs no look at the marker: in a Redis
// that lost the sale, or holds another one, it finds no stock and sells nothing.
const (
	saleKey     = "sale"
	stockPrefix = "stock_"
	cartPrefix  = "c_"
	orderPrefix = "o_"
	gatePrefix  = "gate_"

	keptMarkerPrefix = "sale_"
	keptStockPrefix  = "left_"
	keptOrdersPrefix = "past_"
	pricesPrefix     = "prices_"
	nextStockPrefix  = "next_"

	streamPrefix = "orders_"
	streamGroup  = "ledger" // the one consumer group of the stream
)

// keptMarker is the key of the marker of a sale that has ended.
func keptMarker(sale string) string { return keptMarkerPrefix + sale }

func appendCartKey(dst, name []byte) []byte {
	dst = append(dst, cartPrefix...)
	return append(dst, name...)
}

func appendOrderKey(dst []byte, user uint32) []byte {
	dst = append(dst, orderPrefix...)
	return strconv.AppendUint(dst, uint64(user), 10)
}
