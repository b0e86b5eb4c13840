package audit

// The names of the checks, as reports show them.
const (
	ListedOnce   = "every order is listed once"
	OnePerUser   = "every order is of a known user, and a user has one"
	Pieces       = "every order has 1 to 3 pieces of known foods" // sale.PiecesMax
	Totals       = "every order's total is the price of its pieces"
	Oversold     = "no food is sold over its stock"
	Stock        = "stock left + sold = initial stock + restocked, for every food on every server"
	Acknowledged = "every order answered 200 is there, for its user"
	Sent         = "every order of this run has the pieces that were sent"
	Unexpected   = "no order came from nowhere, none that was refused"
	Settled      = "every user of this run who was not refused has exactly one order"
	Earlier      = "every order from before the load is there, unchanged"
	Described    = "every reply is as the description of the API has it"
)
