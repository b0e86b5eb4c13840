package live

import "encoding/json"

// Public has the codes of the refusals that the sale is about: anybody sees how many there are. The other
// ones, such as wrong passwords, would tell an attacker how its tries go; only operators see them.
var Public = map[string]bool{
	"CART_EMPTY": true, "CART_NOT_FOUND": true, "COUPON_NEEDED": true, "COUPON_UNKNOWN": true,
	"COUPON_USED": true, "DOCUMENT_INVALID": true, "FOOD_NOT_FOUND": true, "FOOD_OUT_OF_LIMIT": true,
	"FOOD_OUT_OF_STOCK": true, "NOT_AUTHORIZED_TO_ACCESS_CART": true, "ORDER_OUT_OF_LIMIT": true,
	"RULE_HOUSEHOLD": true, "RULE_LIMIT": true, "RULE_NOT_LISTED": true, "RULE_TOO_EARLY": true,
	"RULE_TOO_LATE": true, "SALE_CLOSED": true, "SALE_NOT_OPEN": true, "SALE_PAUSED": true,
	"SERVICE_UNAVAILABLE": true, "TOO_MANY_REQUESTS": true,
}

// only returns the refusals that are public, or those that are not.
func only(public bool, refused map[string]uint64) map[string]uint64 {
	some := map[string]uint64{}
	for code, n := range refused {
		if Public[code] == public {
			some[code] = n
		}
	}
	return some
}

// others is the data of the event refused, for operators: the refusals that are not public.
type others struct {
	Refused map[string]uint64 `json:"refused"`
	Minute  map[string]uint64 `json:"last_minute"`
}

// others is those of the whole sale, and of the minute up to a second.
func (k *Keeper) others(end int64) []byte {
	text, _ := json.Marshal(others{only(false, k.curve.all.refused),
		only(false, k.last(minuteSeconds, end).refused)}) // texts and numbers never fail
	return text
}

// newOthers is the event for operators who have joined, nil if they have it.
func (h *Hub) newOthers() []byte {
	if string(h.board.others) == string(h.shown.others) {
		return nil
	}
	h.shown.others = h.board.others
	return appendEvent(nil, "refused", h.id(), h.board.others)
}
