package live

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// wholeMax is the number of foods up to which the stock is always sent whole: changes would be little
// shorter.
const wholeMax = 128

// batch is the events of one second.
type batch struct {
	second int64
	text   []byte // of all public events: pace, stock, sale
	pace   []byte // the first of them
	root   []byte // the events for root, nil without news
}

// shown is what the viewers have been shown.
type shown struct {
	stock []int64
	of    *[]int64 // with it
	whole []byte   // event with all stock
	made  int64    // the second in which that was made
	bare  []byte   // sale without its time
	state string   // of the sale
	top   *[]byte

	others []byte // data of the event refused
}

// facts are the fields that the Hub reads in the body of GET /sale.
type facts struct {
	Now   string `json:"now"`
	State string `json:"state"`
}

// begin begins a second: it makes its batch if there are viewers.
func (h *Hub) begin(second int64) {
	h.second = second
	if len(h.viewers) == 0 {
		return
	}
	redis := h.looks.answer(second)
	h.look()
	if second%topSeconds == 0 {
		h.askTop()
	}
	b := h.batch(h.latest + 1)
	// The pace comes first: a viewer that comes back asks by its number, and gets the later events again as a
	// whole.
	b.second, b.text = second-1, nil
	had := h.board.history != nil
	for _, news := range h.board.read() {
		b.text = appendEvent(b.text, "pace", h.id(), withRedis(news.pace, redis))
	}
	if !had { // those who came before
		b.text = append([]byte{}, h.curve()...)
	}
	b.pace = b.text[:len(b.text):len(b.text)]
	body, sale := h.sale()
	b.text = h.appendStock(b.text)
	b.text = h.appendSale(b.text, body, &sale)
	if second%beatSeconds == 0 {
		b.text = append(b.text, ": beat\n\n"...)
	}
	b.root = append(h.newTop(), h.newOthers()...)
	h.latest++
}

// batch is the place of one of the last batches.
func (h *Hub) batch(number int64) *batch { return &h.batches[number%int64(len(h.batches))] }

// sale is the sale at the moment.
func (h *Hub) sale() (body []byte, sale facts) {
	body = h.cfg.Sale()
	_ = json.Unmarshal(body, &sale) // without a body nothing is known of it
	return body, sale
}

// appendStock appends the changes of the stock.
func (h *Hub) appendStock(text []byte) []byte {
	stock, of := h.stock.Load(), h.of.Load()
	if stock == nil || slices.Equal(*stock, h.shown.stock) && of == h.shown.of {
		return text
	}
	data := stockChange(h.shown.stock, *stock)
	if of != h.shown.of {
		data = wholeStock(*stock, of)
	}
	h.shown.stock, h.shown.of = *stock, of
	return appendEvent(text, "stock", h.id(), data)
}

// appendSale appends the sale, if more than its time has changed.
func (h *Hub) appendSale(text, body []byte, sale *facts) []byte {
	bare := body
	if sale.Now != "" {
		bare = bytes.Replace(body, []byte(sale.Now), nil, 1)
	}
	if bytes.Equal(bare, h.shown.bare) {
		return text
	}
	if sale.State != h.shown.state { // that is what viewers wait for
		h.urgent = len(h.viewers)
	}
	h.shown.bare, h.shown.state = bare, sale.State
	return appendEvent(text, "sale", h.id(), body)
}

// wholeStock is the event with the stock of all foods, as the batches up to now have shown it.
func (h *Hub) wholeStock() []byte {
	if h.shown.stock == nil { // not shown to any viewer yet
		if stock := h.stock.Load(); stock != nil {
			h.shown.stock, h.shown.of = *stock, h.of.Load()
		}
	}
	if h.shown.made != h.second && h.shown.stock != nil {
		h.shown.made = h.second
		h.shown.whole = appendEvent(nil, "stock", h.id(), wholeStock(h.shown.stock, h.shown.of))
	}
	return h.shown.whole
}

// wholeStock is the data of a stock event with all foods, and how many pieces there have been of each where
// that is known.
func wholeStock(stock []int64, of *[]int64) []byte {
	text := append([]byte(`{"left":`), list(stock)...)
	if of != nil {
		text = append(append(text, `,"of":`...), list(*of)...)
	}
	return append(text, '}')
}

// stockChange is the data of a stock event: all foods, or only the changed foods if that is much shorter.
func stockChange(before, now []int64) []byte {
	var changed []int
	for i := range before {
		if i < len(now) && now[i] != before[i] {
			changed = append(changed, i)
		}
	}
	if len(now) <= wholeMax || len(before) != len(now) || 2*len(changed) > len(now) {
		return wholeStock(now, nil)
	}
	text := []byte(`{"changed":{`)
	for n, i := range changed {
		if n > 0 {
			text = append(text, ',')
		}
		text = append(strconv.AppendInt(append(text, '"'), int64(i+1), 10), `":`...)
		text = strconv.AppendInt(text, now[i], 10)
	}
	return append(text, "}}"...)
}

// list is a JSON list of numbers.
func list[T int64 | uint32](numbers []T) []byte {
	text := []byte{'['}
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return append(text, ']')
}

// id is the id of the events of this second: that of the second which is over.
func (h *Hub) id() int64 { return h.second - 1 }

// appendEvent appends an event, unless it has no data.
func appendEvent(text []byte, name string, id int64, data []byte) []byte {
	if len(data) == 0 {
		return text
	}
	text = append(text, "event: "...)
	text = append(text, name...)
	text = append(text, "\nid: "...)
	text = strconv.AppendInt(text, id, 10)
	text = append(text, "\ndata: "...)
	text = append(text, data...)
	return append(text, "\n\n"...)
}

// gathered is a text of several batches, which most viewers need that are as far behind.
type gathered struct {
	from, to int64
	text     []byte
}

// gather returns all batches behind one.
func (h *Hub) gather(from int64, root bool) []byte {
	switch {
	case root:
		return h.join(from, true)
	case from == h.latest-1:
		return h.batch(h.latest).text
	case h.gathered.from != from || h.gathered.to != h.latest:
		h.gathered = gathered{from, h.latest, h.join(from, false)}
	}
	return h.gathered.text
}

func (h *Hub) join(from int64, root bool) (text []byte) {
	for number := from + 1; number <= h.latest; number++ {
		b := h.batch(number)
		text = append(text, b.text...)
		if root {
			text = append(text, b.root...)
		}
	}
	return text
}
