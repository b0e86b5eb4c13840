package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/provider"
	"flashsale/redisx/redistest"
)

const (
	paymentKey    = "sk_test_of_the_shop"
	paymentSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherSecret   = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0LCBsb25nIGVub3VnaA=="
)

// payingShop is a server whose orders are paid at a provider for tests.
type payingShop struct {
	*testing.T
	*server
	provider *provider.Provider
	redis    *redistest.Server
}

// servePaying starts a provider and a server with foods of 100 each, and secrets in a file.
func servePaying(t *testing.T, cfg provider.Config, args ...string) (s *payingShop, secrets string) {
	t.Helper()
	cfg.Key, cfg.Secret = paymentKey, paymentSecret
	p, err := provider.Start(cfg)
	testkit.Must(t, err)
	t.Cleanup(p.Close)
	catalogue := t.TempDir()
	testkit.WriteFile(t, filepath.Join(catalogue, "foods.csv"),
		"id,stock,price,name,currency\n1,4,7,Noodles,EUR\n2,2,10,Soup,EUR\n3,9,0,Bread,EUR\n")
	users := "id,name,password\n1,root,toor\n"
	for user := 2; user < 12; user++ {
		users += fmt.Sprintf("%d,user%[1]d,pass%[1]d\n", user)
	}
	testkit.WriteFile(t, filepath.Join(catalogue, "users.csv"), users)
	secrets = filepath.Join(t.TempDir(), "secrets")
	testkit.WriteFile(t, secrets, paymentSecret+"\n")
	redis := redistest.New(t)
	s = &payingShop{T: t, provider: p, redis: redis, server: setup{env: []string{"PAYMENT_KEY=" + paymentKey,
		"PAYMENT_SECRETS=" + secrets}, args: append([]string{"-redis", redis.Socket, "-workers", "2",
		"-limits", "off", "-catalog-dir", catalogue, "-hold", "30m", "-payment", p.Flag(),
		"-payment-return", "https://shop.example/"}, args...)}.serve(t)}
	return s, secrets
}

// buyer returns a client of a user who has an order, and the order's id.
func (s *payingShop) buyer(user int, items ...client.Item) (c *client.Client, order string) {
	s.Helper()
	c = s.client(s.T)
	order, err := c.Buy(user, items...)
	testkit.Must(s, err)
	return c, order
}

type payment struct {
	ID       string `json:"payment_id"`
	URL      string
	Amount   int64
	Currency string
	Till     time.Time
}

// pay opens a payment.
func (s *payingShop) pay(c *client.Client, order string) (p payment) {
	s.Helper()
	testkit.Must(s, c.Call("POST", "/orders/"+order+"/payment", "", &p))
	return p
}

// state is the state of an order, with the reason for it.
func (s *payingShop) state(c *client.Client, order string) string {
	s.Helper()
	var o struct{ State, Reason string }
	testkit.Must(s, c.Call("GET", "/orders/"+order, "", &o))
	return strings.TrimSpace(o.State + " " + o.Reason)
}

// send sends the events that wait.
func (s *payingShop) send(f provider.Faults) provider.Sent {
	s.Helper()
	sent, err := s.provider.Send("http://"+s.Address+"/payments/events", f)
	testkit.Must(s, err)
	return sent
}

func (s *payingShop) wantState(c *client.Client, order, want string) {
	s.Helper()
	if got := s.state(c, order); got != want {
		s.Errorf("order %s is %s, want %s", order, got, want)
	}
}

// awaitPayments waits for the states of all payments at the provider.
func (s *payingShop) awaitPayments(want ...provider.State) {
	s.Helper()
	testkit.Until(s, fmt.Sprint("payments ", want), func() bool {
		var states []provider.State
		for _, p := range s.provider.Payments() {
			states = append(states, p.State)
		}
		return slices.Equal(states, want)
	})
}

// expire ends the hold of a user's order, and waits until it is released.
func (s *payingShop) expire(c *client.Client, user int, order string) {
	s.Helper()
	testkit.Must(s, redisDo(s.redis, "ZADD", "holds_"+s.Sale(s.T), "XX", "1", fmt.Sprint(user)))
	testkit.Until(s, "released "+order, func() bool { return s.state(c, order) == "released expired" })
}

func redisDo(r *redistest.Server, words ...string) error {
	_, err := launch.AskRedis(r.Socket, testkit.Patience, words...)
	return err
}

// Orders are paid, at both kinds of providers: an event that comes twice, late, in any order, or forged
// changes what it must and nothing else.
func TestPayments(t *testing.T) {
	t.Parallel()
	for _, stripe := range []bool{false, true} {
		t.Run(fmt.Sprintf("stripe %v", stripe), func(t *testing.T) {
			t.Parallel()
			s, _ := servePaying(t, provider.Config{Stripe: stripe})
			ann, first := s.buyer(2, item(1, 1), item(2, 1))
			p := s.pay(ann, first)
			if p != (payment{"pay_1", s.provider.URL() + "/pay/pay_1", 1700, "EUR", p.Till}) {
				t.Errorf("opened %+v", p)
			}
			ends := map[bool]string{true: fmt.Sprint(p.Till.Unix()), false: p.Till.Format(time.RFC3339)}[stripe]
			if expires := s.provider.Payments()[0].Expires; expires != ends {
				t.Errorf("the payment ends at %s, and the hold at %s", expires, ends)
			}
			again := s.pay(ann, first) // the first one ends
			s.awaitPayments(provider.Ended, provider.Open)
			testkit.Must(t, s.provider.Pay(p.ID, true)) // the buyer was still there
			testkit.Must(t, s.provider.Pay(again.ID, false))
			ben, second := s.buyer(3, item(1, 1))
			late := s.pay(ben, second)
			testkit.Must(t, s.provider.Pay(late.ID, false))
			s.expire(ben, 3, second)
			free, third := s.buyer(4, item(3, 1))
			if p := s.pay(free, third); p.URL != "" || p.Amount != 0 {
				t.Errorf("an order that costs nothing: %+v", p)
			}
			s.wantState(free, third, "paid")

			sent := s.send(provider.Faults{Rand: rand.New(rand.NewPCG(1, 2)), Shuffle: true, Twice: 1, Forged: 1})
			if sent.Taken != 3 || sent.Refused != 0 || sent.ForgedTaken != 0 || len(sent.Statuses) != 6 {
				t.Errorf("sent %+v", sent)
			}
			s.wantState(ann, first, "paid")
			s.wantState(ben, second, "paid") // late, and there were pieces
			s.wantRefunds("due", first+" 1700 ended")
			s.awaitStock(t, map[int]int{1: 2, 2: 1, 3: 8})
			if r, err := ann.Do("POST", "/orders/"+first+"/payment", ""); err != nil || r.Status != 409 {
				t.Errorf("to pay again: %d %s, %v", r.Status, r.Body, err)
			}
			if r, err := ben.Do("POST", "/orders/"+first+"/payment", ""); err != nil || r.Status != 404 {
				t.Errorf("to pay another's: %d %s, %v", r.Status, r.Body, err)
			}
		})
	}
}

// wantRefunds checks the list of refunds: "order amount reason" of each.
func (s *payingShop) wantRefunds(state string, want ...string) {
	s.Helper()
	var list []struct {
		Payment string `json:"payment_id"`
		Order   string `json:"order_id"`
		Amount  int64
		Reason  string
	}
	testkit.Must(s, s.root(s.T).Call("GET", "/admin/refunds?state="+state, "", &list))
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprintf("%s %d %s", r.Order, r.Amount, r.Reason))
	}
	if !slices.Equal(got, want) {
		s.Errorf("refunds that are %s: %q, want %q", state, got, want)
	}
}

// A provider that takes the order and does not answer, a killed server, a secret that changes, a buyer who
// gives the order back, an operator who corrects, and the next sale: no money is lost.
func TestPaymentsUnderFaults(t *testing.T) {
	t.Parallel()
	s, secrets := servePaying(t, provider.Config{})
	s.compareSession(t, testkit.ReadFile(t, root+"internal/rooms/payments/README.md"))
	ann, first := s.buyer(2, item(1, 2))
	s.provider.Mute(1)
	if _, err := ann.Do("POST", "/orders/"+first+"/payment", ""); err != nil {
		t.Error(err)
	}
	testkit.Must(t, s.provider.Pay("pay_1", false)) // nobody knows of it
	if sent := s.send(provider.Faults{}); sent.Taken != 1 {
		t.Errorf("sent %+v", sent)
	}
	s.wantState(ann, first, "paid")

	ben, second := s.buyer(3, item(1, 1))
	s.provider.Mute(1)
	refused, err := ben.Do("POST", "/orders/"+second+"/payment", "")
	if err != nil || refused.Status != 502 {
		t.Errorf("a provider that does not answer: %d %s, %v", refused.Status, refused.Body, err)
	}
	s.pay(ben, second) // the same one
	s.awaitPayments(provider.Paid, provider.Open)
	testkit.Must(t, ben.Call("DELETE", "/orders/"+second, "", nil))
	s.awaitPayments(provider.Paid, provider.Ended)
	testkit.Must(t, s.provider.Pay("pay_2", true))

	testkit.WriteFile(t, secrets, otherSecret+"\n")
	s.awaitRoll(t, 1)
	if sent := s.send(provider.Faults{}); !slices.Equal(sent.Statuses, []int{401}) {
		t.Errorf("an event under a secret that was replaced: %+v", sent)
	}
	testkit.WriteFile(t, secrets, otherSecret+"\n"+paymentSecret+"\n")
	s.awaitRoll(t, 2)
	if sent := s.send(provider.Faults{}); sent.Taken != 1 {
		t.Errorf("with both secrets: %+v", sent)
	}
	s.wantState(ben, second, "refund_due cancelled")

	root := s.root(t)
	var corrected struct {
		State  string
		Total  int64
		Refund struct {
			Payment string `json:"payment_id"`
			Amount  int64
		}
	}
	body := `{"reason":"one is broken","items":[{"food_id":1,"count":1}]}`
	testkit.Must(t, root.Call("PATCH", "/admin/orders/"+first, body, &corrected))
	if fmt.Sprint(corrected) != "{paid 700 {pay_1~4 700}}" {
		t.Errorf("corrected %v", corrected)
	}
	testkit.Must(t, root.Call("PATCH", "/admin/orders/"+first, `{"reason":"all is","state":"cancelled"}`, nil))
	s.wantState(ann, first, "refund_due all is")
	testkit.Must(t, root.Call("POST", "/admin/refunds/pay_1~4/done", "", nil))
	testkit.Must(t, root.Call("POST", "/admin/refunds/pay_1/done", "", nil))
	s.wantState(ann, first, "refunded all is")
	s.wantRefunds("due", second+" 700 cancelled")
	s.wantRefunds("done", first+" 700 all is", first+" 700 one is broken")
	s.awaitStock(t, map[int]int{1: 4, 2: 2, 3: 9})
	log, err := root.Do("GET", "/admin/log", "")
	testkit.Must(t, err)
	if want := `"what":"order","order_id":"` + first + `"`; strings.Count(log.Body, want) != 2 {
		t.Errorf("the log has not two lines with %s: %s", want, log.Body)
	}
	for what, want := range map[string]string{
		`{"reason":"expired","state":"cancelled"}`: "400 INVALID_REASON", "": "400 EMPTY_REQUEST",
		`{"reason":" ","state":"cancelled"}`: "400 INVALID_REASON",
		`{"reason":"x","state":"paid"}`:      "400 INVALID_STATE", `{"reason":"x"}`: "400 MALFORMED_JSON",
		`{"reason":"x","items":[]}`:              "400 INVALID_ITEMS",
		`{"reason":"x","state":"cancelled"}`:     "404 ORDER_NOT_FOUND",
		`{"reason":"x","items":[{"food_id":1}]}`: "400 INVALID_ITEMS",
	} {
		r, err := root.Do("PATCH", "/admin/orders/"+first, what)
		testkit.Must(t, err)
		var f struct{ Code string }
		testkit.Must(t, json.Unmarshal([]byte(r.Body), &f))
		if got := fmt.Sprint(r.Status, " ", f.Code); got != want {
			t.Errorf("PATCH %s: %s, want %s", what, got, want)
		}
	}
}

// Money that comes once the next sale was opened is due to be given back, once, and listed under its sale.
// An order that there is not is told again; one of no sale is not.
func TestPaymentsAfterTheSale(t *testing.T) {
	t.Parallel()
	s, _ := servePaying(t, provider.Config{})
	ann, first := s.buyer(2, item(1, 1))
	p := s.pay(ann, first)
	ben, second := s.buyer(3, item(1, 1))
	q := s.pay(ben, second)
	testkit.Must(t, s.provider.Pay(q.ID, false))
	if sent := s.send(provider.Faults{}); sent.Taken != 1 {
		t.Errorf("sent %+v", sent)
	}
	testkit.Must(t, s.provider.Pay(p.ID, false))
	testkit.Must(t, ann.Call("DELETE", "/orders/"+first, "", nil))
	root := s.root(t)
	testkit.Must(t, root.Call("PUT", "/admin/sale", `{"state":"closed"}`, nil))
	var next struct{ Next string }
	testkit.Must(t, root.Call("POST", "/admin/sale/next", `{"id":"`+s.Sale(t)+`"}`, &next))
	awaitSale(t, s.server, next.Next)
	if sent := s.send(provider.Faults{Rand: rand.New(rand.NewPCG(1, 2)), Twice: 1}); sent.Taken != 1 {
		t.Errorf("after the sale: %+v", sent)
	}
	s.wantRefunds("due", first+" 700 closed")
	testkit.Must(t, s.root(t).Call("POST", "/admin/refunds/"+p.ID+"/done", "", nil))
	s.wantRefunds("due")
	s.wantRefunds("done", first+" 700 closed")
}
