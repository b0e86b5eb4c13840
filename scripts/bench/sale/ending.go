package sale

// End is what became of a held order after the load.
type End uint8

// The ends of a held order.
const (
	Left      End = iota // nobody did anything: it is held until its hold ends
	GivenBack            // by its buyer, or its hold had ended before
	Paid                 // while it was held
	PaidLate             // perhaps after its hold had ended
	Failed               // a call was not answered as it should be
)

func (e End) String() string {
	return [...]string{"left", "given back", "paid", "paid late", "failed"}[e]
}

// Ending is the end of an order as the audit needs it.
type Ending struct {
	OrderID string
	UserID  uint32
	End     End
	Payment string // the payment's id if the server was told of one, else ""
	Amount  int64  // of the payment
	Problem string // what went wrong, if it failed
}
