package sale

// PiecesMax is the contract's limit of pieces in a cart. The load sends at most this number of adds, of one
// piece each, and the audit checks every order. It is not the server's constant: bench proves from outside.
const PiecesMax = 3

// Outcome is what a buyer knows of its order.
type Outcome uint8

const (
	NotOrdered Outcome = iota // the flow ended before the order was sent
	Placed                    // answered 200
	Refused                   // answered with a reason: there must be no order
	Unknown                   // no answer, or a 5xx
	Stranded                  // with -retry: a step before the order was never answered
)

func (o Outcome) String() string {
	return [...]string{"not ordered", "placed", "refused", "unknown", "stranded"}[o]
}

// Attempt is one flow as the audit needs it: the pieces in the cart and the outcome of the order.
type Attempt struct {
	UserID  uint32
	Outcome Outcome
	OrderID string // when placed
	Adds    int8
	Foods   [PiecesMax]int64 // one piece of each, in the order sent
	Twice   [PiecesMax]bool  // the server may have seen this add two times
	Settled bool             // a repeat of the order settled its unknown outcome
}
