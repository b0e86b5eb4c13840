package load

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

// witness makes the calls of a buyer that only a history needs, on connections of its own: it looks at the
// buyer's order before and after, orders the same cart under the same key at the same time and again later,
// and orders a cart of another buyer.
type witness struct {
	history *history.Writer
	client  *client
	style   Style
	hold    time.Duration
	number  int // of the client in the history; the buyer's is one less
	dice    *rand.Rand
	last    *atomic.Pointer[purchase] // of any buyer
	purchase
}

// purchase is an order that a buyer is about to send.
type purchase struct {
	user             uint32
	token, key, cart string
	pieces           history.Pieces
}

// begins is watch for the order of a flow.
func (b *buyer) begins(try *sale.Attempt, cart string) (end func() (id string)) {
	if b.witness == nil {
		return func() string { return "" }
	}
	p := purchase{try.UserID, b.token, b.key, cart, history.Pieces{}}
	for _, food := range try.Foods[:try.Adds] {
		p.pieces[food]++
	}
	return b.witness.watch(p)
}

func (l *Load) newWitness() *witness {
	if l.opt.History == nil {
		return nil
	}
	number, style := int(l.clients.Add(2)), l.opt.Style
	style.TokenInQuery = false // its paths have a query
	return &witness{history: l.opt.History, client: newClient(l.opt.Servers, l.opt.TLS, l.opt.Timeout),
		style: style, hold: l.opt.Hold, number: number,
		dice: rand.New(rand.NewPCG(l.opt.Seed, uint64(number))), last: &l.last}
}

func (w *witness) close() {
	if w != nil {
		w.client.close()
	}
}

// watch looks at a purchase that begins. The buyer calls end when it has the answer: it returns the order's
// id if the witness got one.
func (w *witness) watch(p purchase) (end func() (id string)) {
	w.purchase = p
	w.look()
	if other := w.last.Swap(&p); other != nil && other.user != p.user && w.dice.IntN(8) == 0 {
		w.order(other.cart, history.Event{Owner: other.user, Pieces: other.pieces})
	}
	var id string
	var race sync.WaitGroup
	if w.dice.IntN(2) == 0 {
		race.Go(func() { id = w.orderOwn() })
	}
	return func() string {
		race.Wait()
		w.look()
		if w.dice.IntN(2) == 0 {
			if again := w.orderOwn(); again != "" {
				id = again
			}
		}
		w.look()
		return id
	}
}

// orderOwn returns the id of the order, "" if it was not placed or that is unknown.
func (w *witness) orderOwn() (id string) {
	return w.order(w.cart, history.Event{Key: w.key, Pieces: w.pieces})
}

func (w *witness) order(cart string, e history.Event) (id string) {
	e.Call, e.User, e.Client, e.Hold = history.Order, w.user, w.number, int64(w.hold)
	rep, _, _ := w.send("POST", "/orders", e.Key, jsonBody(replyTexts{CartID: cart}), e)
	return texts(rep.body).OrderID
}

// look reads the user's own order.
func (w *witness) look() {
	e, path := history.Event{Call: history.Read, User: w.user, Client: w.number}, "/orders"
	if w.hold > 0 {
		path += "?details=1"
	}
	_, _, _ = w.send("GET", path, "", nil, e)
}

// send sends a request to a random server.
func (w *witness) send(method, path, key string, body []byte, e history.Event) (reply, bool, error) {
	server := w.dice.IntN(len(w.client.servers))
	request := w.style.appendRequest(nil, method, path, w.client.servers[server], w.token, key, body)
	return w.trace(w.client, server, request, e)
}

// trace sends a request, on the connections of any client, and writes it with its answer.
func (w *witness) trace(c *client, server int, request []byte, e history.Event) (rep reply, twice bool,
	err error) {
	e.Began = w.history.Now()
	rep, twice, err = c.send(server, request)
	e.Ended, e.Outcome = w.history.Now(), history.Unknown
	if twice {
		w.history.Write(e) // the first sending, which had no answer
	}
	switch {
	case err != nil || rep.status >= http.StatusInternalServerError:
		w.history.Write(e)
	case rep.status != http.StatusOK:
		e.Outcome = texts(rep.body).Code
		w.history.Write(e)
	case e.Call == history.Read:
		w.writeRead(e, rep.body)
	default:
		e.Outcome, e.ID = history.Done, texts(rep.body).OrderID
		w.history.Write(e)
	}
	return rep, twice, err
}

// writeRead writes an event for each order that a user has, or one for no order.
func (w *witness) writeRead(e history.Event, body []byte) {
	var orders []history.Listed
	if json.Unmarshal(body, &orders) != nil {
		return
	}
	e.Outcome = history.Done
	if len(orders) == 0 {
		w.history.Write(e)
	}
	for _, o := range orders {
		w.history.Write(e.Shows(o))
	}
}

// send is the client's send; a history gets the orders.
func (b *buyer) send(s Step, server int) (reply, bool, error) {
	if s != StepOrder || b.witness == nil {
		return b.client.send(server, b.request)
	}
	p := &b.witness.purchase
	return b.witness.trace(b.client, server, b.request, history.Event{Call: history.Order, User: p.user,
		Client: b.witness.number - 1, Key: p.key, Pieces: p.pieces, Hold: int64(b.witness.hold)})
}

// restock lets root add a piece to a random food again and again, until the caller calls end.
func (l *Load) restock() (end func()) {
	w := l.newWitness()
	if w == nil || l.opt.Restock <= 0 {
		return func() {}
	}
	var work sync.WaitGroup
	done := make(chan struct{})
	work.Go(func() {
		defer w.close()
		for tick := time.Tick(l.opt.Restock); ; {
			select {
			case <-done:
				return
			case <-tick:
				w.restock(l)
			}
		}
	})
	return func() {
		close(done)
		work.Wait()
	}
}

func (w *witness) restock(l *Load) {
	if w.token == "" {
		request := w.style.appendRequest(nil, "POST", "/login", w.client.servers[0], "", "",
			jsonBody(credentials{l.opt.Root.Name, l.opt.Root.Password}))
		rep, _, err := w.client.send(0, request)
		if err != nil {
			return
		}
		w.token = url.QueryEscape(texts(rep.body).Token)
	}
	food := l.foods[w.dice.IntN(len(l.foods))].ID
	_, _, _ = w.send("POST", "/admin/foods/"+strconv.FormatInt(food, 10)+"/stock", "", []byte(`{"add":1}`),
		history.Event{Call: history.Restock, Client: w.number, Food: food, Count: 1})
}
