package turnover

// Every key of a turnover and of the sales that have ended, beside those in redisx/keys.go:
//
//	sale           hash    exporting, exported (Unix ms),               for ever    export.lua
//	                       exported_orders, exported_users,
//	                       exported_events (the last ones before);
//	                       next_id, next_catalog, next_opens_at,        until then  begin.lua, end.lua
//	                       next_closes_at, next_delete, next_by while
//	                       the next one is opened; previous, ledger,    for ever    end.lua
//	                       server go over to the next one
//	next_<sale>    list    stock of the sale that is being opened,      until then  begin.lua, end.lua
//	                       see numbers.go
//	prices_<sale>  list    prices of an exported sale, see numbers.go   for ever    export.lua
//
// A sale that has ended; its log and its prices stay where they are. Of a deleted sale only the log stays:
//
//	sale_<sale>    hash    its marker                                   for ever    end.lua
//	left_<sale>    hash    its stock                                    for ever    begin.lua
//	past_<sale>    hash    user -> order, as in o_<user>; a cancelled   for ever    move.lua,
//	                       one with its reason, as in released_<sale>               held/ended.lua
const (
	keptMarkerPrefix = "sale_"
	keptStockPrefix  = "left_"
	pricesPrefix     = "prices_"
	nextStockPrefix  = "next_"
)
