package held

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

var models = flag.Int("models", 20, "random histories that TestModel plays")

const (
	modelUsers = 6
	modelSteps = 60
)

// player plays a random history and knows what the provider has been paid.
type player struct {
	*stand
	*rand.Rand
	initial, restocked []int64
	ids                []ID             // of all orders
	open               []paymentOf      // opened at the provider, in this order
	got                map[string]int64 // what the provider was paid, by payment
	back               map[string]int64 // what was given back
	states             map[ID]redisx.HoldState
}

type paymentOf struct {
	id      ID
	payment string
	price   int64
}

// After each step of a random history the equation of the stock holds, no state went back, and all money
// that the provider got is an order's, or due to be given back, or given back.
func TestModel(t *testing.T) {
	for seed := range *models {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg redisx.Config) {
				stock := []int64{4, 3, 5}
				p := &player{stand: newStand(t, cfg, stock...), Rand: rand.New(rand.NewPCG(uint64(seed), 7)),
					initial: stock, restocked: make([]int64, len(stock)), got: map[string]int64{}, back: map[string]int64{},
					states: map[ID]redisx.HoldState{}}
				for range modelSteps {
					p.step()
					if p.check(); t.Failed() {
						t.Fatalf("seed %d, events %v", seed, p.events())
					}
				}
			})
		})
	}
}

// step makes a random change.
func (p *player) step() {
	user := uint32(2 + p.IntN(modelUsers))
	switch p.IntN(10) {
	case 0, 1, 2:
		id, err := p.place(user, p.items())
		if err == nil {
			p.ids = append(p.ids, id)
		}
	case 3, 4:
		p.begin()
	case 5, 6:
		p.receive()
	case 7:
		p.expire(user)
	case 8:
		p.correct()
	case 9:
		p.rest()
	}
}

func (p *player) items() (items []redisx.Item) {
	foods := p.Perm(len(p.initial))[:1+p.IntN(3)]
	for _, food := range foods {
		items = append(items, redisx.Item{Food: int64(food + 1), Count: 1})
	}
	return items
}

func (p *player) someID() (ID, bool) {
	if len(p.ids) == 0 {
		return ID{}, false
	}
	return p.ids[p.IntN(len(p.ids))], true
}

func piecesOf(items []redisx.Item) (sum int64) {
	for _, item := range items {
		sum += item.Count
	}
	return sum
}

// begin opens a payment; sometimes the provider refuses it, or the server dies before it notes it.
func (p *player) begin() {
	id, ok := p.someID()
	if !ok {
		return
	}
	begun, err := p.orders.Pay(id, time.Hour)
	if err != nil {
		return
	}
	if p.IntN(8) == 0 {
		testkit.Must(p, p.orders.Unpayable(id, begun.Attempt))
		return
	}
	opened := paymentOf{id, fmt.Sprintf("p%d-%d-%d", id.User, id.Number, begun.Attempt),
		10 * piecesOf(begun.Items)}
	p.open = append(p.open, opened)
	if p.IntN(4) > 0 {
		_, err := p.orders.Payable(id, begun.Attempt, opened.payment, opened.price)
		testkit.Must(p, err)
	}
}

// receive tells that a payment was made: any one that was ever opened, perhaps once more, and sometimes of
// another amount.
func (p *player) receive() {
	if len(p.open) == 0 {
		return
	}
	made := p.open[p.IntN(len(p.open))]
	if p.IntN(10) == 0 {
		made.price--
	}
	order, err := p.orders.Find(made.id)
	testkit.Must(p, err)
	settled, err := p.orders.Paid(made.id, Receipt{Payment: made.payment,
		Amount: made.price, Items: order.Items, Price: 10 * piecesOf(order.Items)})
	testkit.Must(p, err)
	if settled != SettledBefore {
		p.want(made.payment+" was taken before", p.got[made.payment], int64(0))
		p.got[made.payment] = made.price
	}
}

// correct lets the buyer or root end or shrink an order.
func (p *player) correct() {
	id, ok := p.someID()
	if !ok {
		return
	}
	o, err := p.sale.Order(id.User)
	testkit.Must(p, err)
	switch {
	case p.IntN(2) == 0:
		p.orders.Cancel(id, []string{"", "ann"}[p.IntN(2)], "why")
	case len(o.Items) > 1 && o.Hold.Number == id.Number:
		_, _, err := p.orders.Shrink(id, "ann", "why", o.Items, o.Items[1:], 10*o.Items[0].Count)
		testkit.Must(p, err)
	}
}

// rest restocks, or gives money back.
func (p *player) rest() {
	if p.IntN(2) == 0 {
		food := p.IntN(len(p.initial))
		if _, _, err := p.sale.Restock(redisx.Restock{By: "root", Food: int64(food + 1), Add: 1}); err == nil {
			p.restocked[food]++
		}
		return
	}
	var due []string
	p.raw(&due, "ZRANGEBYSCORE", p.keys.Refunds, "0", "+inf")
	if len(due) == 0 {
		return
	}
	payment := due[p.IntN(len(due))]
	var id ID
	var amount int64
	fmt.Sscan(p.payments()[payment], &id.User, &id.Number, &amount)
	testkit.Must(p, p.orders.Refunded(id, payment))
	p.back[payment] += amount
}

func (p *player) payments() map[string]string {
	all := map[string]string{}
	p.raw(&all, "HGETALL", p.keys.Payments)
	return all
}

// check looks at everything.
func (p *player) check() {
	stock := map[string]int64{}
	var fields []string
	p.raw(&fields, "HGETALL", p.keys.Stock)
	for i := 0; i+1 < len(fields); i += 2 {
		var n int64
		fmt.Sscan(fields[i+1], &n)
		stock[fields[i]] = n
	}
	sold, held := make([]int64, len(p.initial)), make([]int64, len(p.initial))
	orders, paid := int64(0), map[string]bool{}
	for user := range uint32(modelUsers) {
		o, err := p.sale.Order(user + 2)
		testkit.Must(p, err)
		if len(o.Items) == 0 {
			continue
		}
		orders++
		for _, item := range o.Items {
			sold[item.Food-1] += item.Count
			if o.Hold.State != redisx.Paid {
				held[item.Food-1] += item.Count
			}
		}
		if o.Hold.State == redisx.Paid {
			paid[o.Hold.Payment] = true
		}
		var due string
		p.raw(&radix.Maybe{Rcv: &due}, "ZSCORE", p.keys.Holds, fmt.Sprint(user+2))
		p.want("in holds", due != "", o.Hold.State != redisx.Paid)
	}
	for food, initial := range p.initial {
		p.want(fmt.Sprint("food ", food+1), initial+p.restocked[food], stock[fmt.Sprint(food+1)]+sold[food])
		p.want(fmt.Sprint("held of food ", food+1), stock[fmt.Sprint("~", food+1)], held[food])
	}
	p.want("orders", stock["orders"], orders)
	p.checkMoney(paid)
	p.checkStates()
	p.checkEvents()
}

// checkMoney compares what the provider got with what the payments say.
func (p *player) checkMoney(paid map[string]bool) {
	var due []string
	p.raw(&due, "ZRANGEBYSCORE", p.keys.Refunds, "0", "+inf")
	waiting := map[string]bool{}
	for _, payment := range due {
		waiting[payment] = true
	}
	noted := map[string]int64{} // by payment, with its parts
	for payment, text := range p.payments() {
		var user, number, amount int64
		var state string
		if n, _ := fmt.Sscan(text, &user, &number, &amount, &state); n < 4 {
			continue // how many were begun for an order
		}
		whole, _, _ := strings.Cut(payment, "~")
		switch state {
		case "paid":
			p.want(payment+" has an order", paid[payment], true)
		case "refund_due":
			p.want(payment+" waits", waiting[payment], true)
		case "refunded":
			p.want(payment+" was given back", p.back[payment], amount)
			p.want(payment+" waits", waiting[payment], false)
		default:
			continue
		}
		noted[whole] += amount
	}
	for payment, amount := range p.got {
		p.want(payment+" is noted", noted[payment], amount)
	}
	for payment := range noted {
		p.want(payment+" was paid", p.got[payment] > 0, true)
	}
}

// ranks are the states of orders: an order goes to one of the same rank or a higher one.
var ranks = map[redisx.HoldState]int{redisx.Held: 0, redisx.Paying: 1, redisx.Released: 2, redisx.Paid: 3,
	redisx.RefundDue: 4, redisx.Refunded: 5}

// checkStates checks that no order goes back.
func (p *player) checkStates() {
	for _, id := range p.ids {
		o, err := p.orders.Find(id)
		testkit.Must(p, err)
		now, before := o.Hold.State, p.states[id]
		if before != "" {
			ended := before == redisx.Paid && now == redisx.Released // it cost nothing: there is nothing to give back
			p.want(fmt.Sprint(id, " from ", before, " to ", now), ranks[now] >= ranks[before] || ended, true)
		}
		p.states[id] = now
	}
}

// checkEvents checks that the events of each order are numbered without gaps, begin with "held", and that no
// state goes back.
func (p *player) checkEvents() {
	seqs, ended := map[string]int{}, map[string]bool{}
	for _, e := range p.events() {
		f := strings.Fields(e)
		seqs[f[0]]++
		p.want(e, fmt.Sprint(seqs[f[0]]), f[1])
		p.want(e+" first", seqs[f[0]] == 1, f[2] == "held")
		if f[2] == "released" {
			p.want(e+" twice", ended[f[0]], false)
			ended[f[0]] = true
		} else if f[2] == "paying" {
			p.want(e+" of an order that has ended", ended[f[0]], false)
		}
	}
}
