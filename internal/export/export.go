// Package export writes the orders of a sale as CSV or as JSON lines: an order or an item a line, for people
// with a spreadsheet and for programs. It turns orders into text and knows nothing of where they come from
// or go to; README.md has the formats.
package export

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"flashsale/redisx"
)

// Format is how orders are written.
type Format string

// The formats.
const (
	CSV       Format = "csv"   // RFC 4180
	JSONLines Format = "jsonl" // one object a line
)

// ContentType is the type of a text in the format, for HTTP.
func (f Format) ContentType() string {
	if f == CSV {
		return "text/csv; charset=utf-8; header=present"
	}
	return "application/jsonl"
}

// Names returns the names of users by their ids, without unknown users. It is asked once for each page.
type Names func(users []uint32) (map[uint32]string, error)

// NamesBy makes Names of a function that has each name at hand, "" for an unknown user.
func NamesBy(name func(user uint32) []byte) Names {
	return func(users []uint32) (map[uint32]string, error) {
		names := make(map[uint32]string, len(users))
		for _, user := range users {
			if known := name(user); len(known) > 0 {
				names[user] = string(known)
			}
		}
		return names, nil
	}
}

// Rows is what has a line of its own.
type Rows string

// The kinds of rows. Items are for pivot tables.
const (
	Orders Rows = "orders"
	Items  Rows = "items"
)

// PricesOf makes a Price of the prices of food 1, 2, 3, ...
func PricesOf(list []int64) func(food int64) int64 {
	return func(food int64) int64 { return list[food-1] }
}

// Book is what turns the orders of a sale into text.
type Book struct {
	Format Format
	Rows   Rows // "" is Orders
	BOM    bool // CSV begins with a byte order mark: without one Excel does not take it for UTF-8
	Sale   string
	Price  func(food int64) int64 // in minor units of the currency
	Names  Names
	States bool // orders have a state: the sale holds them until they are paid

	Foods    func(food int64) string // names, for Items; nil: they are not known
	Currency string                  // of the prices; "" without one
	Decimals int                     // of the currency
}

// ByteOrderMark is U+FEFF in UTF-8.
const ByteOrderMark = "\xEF\xBB\xBF"

// AppendHead appends the header line of CSV.
func (b *Book) AppendHead(dst []byte) []byte {
	if b.Format != CSV {
		return dst
	}
	if b.BOM {
		dst = append(dst, ByteOrderMark...)
	}
	if b.Rows == Items {
		dst = append(dst, itemsHead...)
	} else {
		dst = append(dst, "order_id,user_id,user_name,items,prices,total,placed_at"...)
	}
	if b.States {
		dst = append(dst, ",state"...)
	}
	if b.Rows != Items && b.Currency != "" {
		dst = append(dst, ",currency,decimals"...)
	}
	return append(dst, "\r\n"...)
}

// endRow appends the last fields of a row, if there are more, and its end.
func (b *Book) endRow(dst []byte, order *redisx.Order) []byte {
	if b.States {
		dst = append(append(dst, ','), order.Hold.State...)
	}
	if b.Rows != Items && b.Currency != "" {
		dst = append(append(append(dst, ','), b.Currency...), ',')
		dst = strconv.AppendInt(dst, int64(b.Decimals), 10)
	}
	return append(dst, "\r\n"...)
}

// AppendPage appends some orders, with "" as the name of an unknown user.
func (b *Book) AppendPage(dst []byte, page []redisx.Order) ([]byte, error) {
	names, err := b.Names(UsersOf(page))
	if err != nil {
		return dst, fmt.Errorf("cannot read the names of users: %w", err)
	}
	add := b.appendObject
	switch {
	case b.Rows == Items && b.Format == CSV:
		add = b.appendItemRows
	case b.Rows == Items:
		add = b.appendItemObjects
	case b.Format == CSV:
		add = b.appendRow
	}
	for i := range page {
		dst = add(dst, &page[i], names[page[i].User])
	}
	return dst, nil
}

// UsersOf are the users of some orders.
func UsersOf(page []redisx.Order) []uint32 {
	users := make([]uint32, len(page))
	for i := range page {
		users[i] = page[i].User
	}
	return users
}

// appendRow appends a row of CSV. No field but the name can have a character that needs quotes.
func (b *Book) appendRow(dst []byte, order *redisx.Order, name string) []byte {
	dst = redisx.AppendOrderID(dst, b.Sale, order.User, order.Hold.Number)
	dst = append(dst, ',')
	dst = strconv.AppendUint(dst, uint64(order.User), 10)
	dst = append(dst, ',')
	dst = AppendField(dst, name)
	dst = append(dst, ',')
	dst = appendByFood(dst, order.Items, func(i redisx.Item) int64 { return i.Count })
	dst = append(dst, ',')
	dst = appendByFood(dst, order.Items, func(i redisx.Item) int64 { return b.Price(i.Food) })
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, b.total(order.Items), 10)
	dst = append(dst, ',')
	return b.endRow(appendTime(dst, order.Placed), order)
}

// appendByFood appends "food=number food=number", not with ":", which a spreadsheet takes for a time of day.
func appendByFood(dst []byte, items []redisx.Item, number func(redisx.Item) int64) []byte {
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, item.Food, 10)
		dst = append(dst, '=')
		dst = strconv.AppendInt(dst, number(item), 10)
	}
	return dst
}

// formulaStarts are the characters with which a spreadsheet takes a field for a formula (OWASP, CSV
// Injection).
const formulaStarts = "=+-@＝＋－＠"

// fieldEnds are the characters that end a field in some spreadsheet.
const fieldEnds = ",;\t\r\n"

// AppendField appends a text as a field of CSV. What a spreadsheet would take for a formula gets an
// apostrophe in front.
func AppendField(dst []byte, text string) []byte {
	text = strings.ToValidUTF8(text, "\uFFFD")
	guarded := guard(text)
	if guarded == text && !strings.ContainsAny(text, "\",;\t\r\n") && strings.TrimSpace(text) == text {
		return append(dst, text...)
	}
	dst = append(append(dst, '"'), strings.ReplaceAll(guarded, `"`, `""`)...)
	return append(dst, '"')
}

// guard puts an apostrophe before each formula of a text: at its start, and after each character that may
// end a field. A tab or line break at the start gets one too.
func guard(text string) string {
	var guarded strings.Builder
	for i, r := range text {
		blank := i == 0 && strings.ContainsRune("\t\r\n", r)
		begins := i == 0 || strings.ContainsRune(fieldEnds, rune(text[i-1]))
		if blank || begins && strings.ContainsRune(formulaStarts, r) {
			guarded.WriteByte('\'')
		}
		guarded.WriteRune(r)
	}
	return guarded.String()
}

// appendObject appends a line with an object.
func (b *Book) appendObject(dst []byte, order *redisx.Order, name string) []byte {
	dst = append(dst, `{"id":"`...)
	dst = redisx.AppendOrderID(dst, b.Sale, order.User, order.Hold.Number)
	dst = append(dst, `","user_id":`...)
	dst = strconv.AppendUint(dst, uint64(order.User), 10)
	dst = append(dst, `,"username":`...)
	quoted, _ := json.Marshal(name) // a text never fails
	dst = append(append(dst, quoted...), `,"items":[`...)
	for i, item := range order.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"food_id":`...)
		dst = strconv.AppendInt(dst, item.Food, 10)
		dst = append(dst, `,"price":`...)
		dst = strconv.AppendInt(dst, b.Price(item.Food), 10)
		dst = append(dst, `,"count":`...)
		dst = strconv.AppendInt(dst, item.Count, 10)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"total":`...)
	dst = strconv.AppendInt(dst, b.total(order.Items), 10)
	dst = append(dst, `,"placed_at":`...)
	dst = append(appendTime(append(dst, '"'), order.Placed), '"')
	if b.States {
		dst = append(append(append(dst, `,"state":"`...), order.Hold.State...), '"')
	}
	if b.Currency != "" {
		dst = append(append(append(dst, `,"currency":"`...), b.Currency...), `","decimals":`...)
		dst = strconv.AppendInt(dst, int64(b.Decimals), 10)
	}
	return append(dst, "}\n"...)
}

func (b *Book) total(items []redisx.Item) (sum int64) {
	for _, item := range items {
		sum += b.Price(item.Food) * item.Count
	}
	return sum
}

// appendTime appends a time of UTC to the millisecond (RFC 3339).
func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}
