package config

import (
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"flashsale/redisx"
)

// The verbs of flashsale sale.
const (
	SaleStatus  = "status"
	SaleOpen    = "open"
	SalePause   = "pause"
	SaleClose   = "close"
	SaleRestock = "restock"
	SaleLog     = "log"
	SaleOrders  = "orders"
	SaleEvents  = "events"
	SaleSums    = "sums"
	SaleExport  = "export"
	SaleNew     = "new"
)

// SaleCommand is what flashsale sale is to do, with the settings of the servers.
type SaleCommand struct {
	*Config
	Verb string

	At     time.Time // SaleOpen, SaleClose: the time, zero for now
	Food   int       // SaleRestock: the food; SaleOrders: only orders with it, 0 for all
	Add    int       // SaleRestock: pieces, below 0 to take back
	Key    string    // SaleRestock: idempotency key, "" for none
	Follow bool      // SaleEvents: wait for further ones
	After  string    // SaleEvents: cursor, "" for the oldest event that is kept
	User   string    // SaleOrders: only this user's order, by name or id; "" for all
	Output string    // SaleExport: file, "" for standard output
	Format string    // SaleExport: "csv" or "jsonl"
	Rows   string    // SaleExport: "orders" or "items"
	BOM    bool      // SaleExport: CSV begins with a byte order mark

	Language string // SaleExport, SaleSums: of the names of foods, "" for the default

	Delete bool // SaleNew: delete the orders of the sale before
	Force  bool // SaleNew: without its conditions
}

var saleVerbs = verbs{
	command: "sale", does: "runs a sale from a terminal",
	list: []verb{
		{name: SaleStatus, usage: "prints what GET /sale answers: state, times, pieces and orders"},
		{name: SaleOpen, usage: "opens the sale now, or at -at; a paused or closed one opens again"},
		{name: SalePause, usage: "pauses the sale: orders are refused until it is opened"},
		{name: SaleClose, usage: "closes the sale now, or at -at"},
		{name: SaleRestock, usage: "adds pieces of a food, or takes back unsold ones"},
		{name: SaleLog, usage: "prints who changed state, times and stock, and when; the oldest change first"},
		{name: SaleOrders, usage: "prints the orders, in any order; each line begins with the time, for sort"},
		{name: SaleEvents, usage: "prints the events of orders and of the sale as JSON lines; the oldest first"},
		{name: SaleSums, usage: "prints by food what was sold, left and refused, and the revenue"},
		{name: SaleExport, usage: "writes all orders as CSV or JSON lines; with -sale those of a sale of the " +
			"past that was kept"},
		{name: SaleNew, usage: "opens the next sale in the place of the one that is closed and exported"},
	},
	end: `It asks Redis with the settings of the servers; these need not run.
Exit code: 0 done, 1 the state of the sale does not permit it, 2 it failed or a flag is wrong.
`,
}

// ParseSale reads the arguments of flashsale sale. After -h the error is flag.ErrHelp.
func ParseSale(args []string, out io.Writer) (*SaleCommand, error) {
	chosen, _, rest, err := saleVerbs.choose(args, out)
	if err != nil {
		return nil, err
	}
	c := &SaleCommand{Verb: chosen.name}
	c.Config = newConfig(c.add)
	if err := c.flags.Parse(rest, out, saleVerbs.usageOf(chosen)); err != nil {
		return nil, err
	}
	return c, nil
}

// add adds the flags of the verb. Its help only names some of the servers' flags.
func (c *SaleCommand) add(f *Flags) {
	end := "Flags of the server are taken too (flashsale -h): -data, -redis or -redis-host for the Redis, " +
		"-sale for the sale"
	if slices.Contains([]string{SaleStatus, SaleOrders, SaleSums, SaleExport, SaleNew}, c.Verb) {
		end += ", -catalog-dir or -db-host for users and foods"
	}
	if c.Verb == SaleExport {
		end += ", -chat for the names of people who have registered"
	}
	defer func() { f.EndHelp(end + ".") }()
	if slices.Contains([]string{SaleStatus, SalePause, SaleLog}, c.Verb) {
		return
	}
	f.Group("Flags of " + c.Verb + ", without environment names")
	switch c.Verb {
	case SaleOpen, SaleClose:
		f.Moment(&c.At, "at", "`time` with a zone, such as 2026-11-22T10:00:00+01:00; by the clock of Redis "+
			"(default: now)")
		f.argumentsOnly("at")
	case SaleRestock:
		c.addRestock(f)
	case SaleOrders:
		f.Text(&c.User, "user", "", "`name` or id of the user whose order to print (default: all)")
		f.Number(&c.Food, "food", 0, 0, math.MaxInt32, "`id` of a food: print only orders with it; 0 for all")
		f.argumentsOnly("user", "food")
	case SaleEvents:
		f.Switch(&c.Follow, "follow", "wait for further events, until the command is stopped")
		f.Text(&c.After, "after", "", "`cursor` behind which to begin, as the command prints it at its end "+
			"(default: the oldest event that is kept)")
		f.argumentsOnly("follow", "after")
	case SaleExport:
		f.Text(&c.Output, "o", "", "`file` to write, which is replaced only by a whole export (default: standard "+
			"output)")
		f.Choice(&c.Format, "format", []string{"csv", "jsonl"}, "`csv|jsonl`: a table for spreadsheets, or an "+
			"object a line")
		f.Choice(&c.Rows, "rows", []string{"orders", "items"}, "`orders|items`: a line for each order, or, for "+
			"pivot tables, for each item, by time and id")
		f.Switch(&c.BOM, "bom", "begin CSV with a byte order mark: without it Excel does not read UTF-8")
		c.addLanguage(f)
		f.argumentsOnly("o", "format", "rows", "bom")
	case SaleSums:
		c.addLanguage(f)
	case SaleNew:
		c.addNew(f)
	}
}

func (c *SaleCommand) addLanguage(f *Flags) {
	f.Text(&c.Language, "language", "", "`language` of the names of foods, such as zh, where the catalogue "+
		"has them in it (default: its own)")
	f.argumentsOnly("language")
}

func (c *SaleCommand) addRestock(f *Flags) {
	f.Number(&c.Food, "food", 0, 0, math.MaxInt32, "`id` of the food")
	f.Number(&c.Add, "add", 0, -redisx.RestockMax, redisx.RestockMax, "`pieces` to add; below 0 takes back "+
		"unsold pieces")
	f.Text(&c.Key, "key", "", "`text` of your choice: for a day a repeated call with the same one changes "+
		"nothing")
	f.argumentsOnly("food", "add", "key")
	f.Check(func() error {
		if c.Food == 0 || c.Add == 0 {
			return errors.New("-food and -add are needed, as in -food 17 -add 500")
		}
		return nil
	})
}

func (c *SaleCommand) addNew(f *Flags) {
	var keep bool
	f.Switch(&keep, "keep", "keep the orders of the sale before under its id (default)")
	f.Switch(&c.Delete, "delete", "delete them instead, with its stock and its prices; its log stays")
	f.Switch(&c.Force, "force", "also when the sale is not closed, its orders were not all exported "+
		"since, or not all are in the database of -ledger")
	f.show("opens-at", "closes-at")
	f.argumentsOnly("keep", "delete", "force", "opens-at", "closes-at") // OPENS_AT is for the old sale
	f.Check(func() error {
		if keep && c.Delete {
			return errors.New("-keep and -delete are both set; choose one")
		}
		return nil
	})
}
