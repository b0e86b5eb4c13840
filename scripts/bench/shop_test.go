package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/sale"
)

// lie is a way in which a shop sells wrongly.
type lie int

const (
	honest       lie = iota
	losesOrder       // answers 200 to the tenth order and keeps nothing
	sellsTwice       // never counts the stock down
	swapsFood        // writes a food into the tenth order that was not in its cart
	takesMany        // keeps a second order of the tenth user
	failsOrder       // answers 503 to the tenth order, which it keeps
	hidesOrder       // answers 403 to the tenth order, which it keeps
	forgetsKey       // answers 503 to the tenth order, which it keeps, and knows no Idempotency-Key
	hangsUp          // keeps the tenth order and closes the connection without an answer
	failsAdd         // answers 503 to the tenth add, which it keeps
	sellsAgain       // sells again to a user who has an order
	sellsAnyCart     // sells a cart of another user
	mixesCarts       // keeps the tenth order with the pieces of another cart
	readsStale       // shows no order to the first read after the tenth order
	losesPiece       // loses a piece, as a transfer could
	doublesPiece     // has a piece twice
	forgetsLast      // forgets the last orders, as a fail-over could
)

// shop is a small sale over net/http with the contract's calls, on one or more servers.
type shop struct {
	mu       sync.Mutex
	lie      lie
	users    int // told at GET /readyz; 0 = no such call
	foods    []audit.Offer
	carts    map[string][]audit.Item
	orders   []audit.Order
	ordered  map[int]bool
	keys     map[int]string // of orders, by user
	stale    int            // the user who gets a stale read
	sold     int            // orders that were not refused
	attempts int            // orders received
	adds     int            // received
	seen     requestLook    // of the requests so far
	onOrder  func(n int)    // called with every order, before it is looked at
}

// requestLook is how the requests looked.
type requestLook struct {
	tokenInQuery, tokenInHeader, bodies int
}

// openTLS is open with a certificate, and gives a PEM file of that.
func (s *shop) openTLS(t *testing.T) (address, caFile string) {
	server := httptest.NewTLSServer(s.routes())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(server.URL, "https://"), caFile
}

// open serves the shop on a loopback port until the test ends and returns its address.
func (s *shop) open(t *testing.T) string { return serve(t, s.routes()) }

func serve(t *testing.T, routes http.Handler) (address string) {
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func newShop(foods []audit.Offer, lie lie) *shop {
	return &shop{lie: lie, foods: foods, carts: map[string][]audit.Item{}, ordered: map[int]bool{},
		keys: map[int]string{}, onOrder: func(int) {}}
}

func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /foods", s.guard(func(w http.ResponseWriter, r *http.Request, _ int) {
		respond(w, 200, s.foods)
	}))
	mux.HandleFunc("POST /carts", s.guard(func(w http.ResponseWriter, r *http.Request, user int) {
		id := fmt.Sprintf("cart-%d-%d", user, len(s.carts))
		s.carts[id] = nil
		respond(w, 200, map[string]string{"cart_id": id})
	}))
	mux.HandleFunc("PATCH /carts/{id}", s.guard(s.add))
	mux.HandleFunc("POST /orders", s.guard(s.order))
	mux.HandleFunc("GET /orders", s.guard(func(w http.ResponseWriter, r *http.Request, user int) {
		own := []audit.Order{}
		for _, o := range s.orders {
			if int(o.UserID) == user && s.stale != user {
				own = append(own, o)
			}
		}
		if s.stale == user {
			s.stale = 0
		}
		respond(w, 200, own)
	}))
	mux.HandleFunc("GET /admin/orders", s.guard(func(w http.ResponseWriter, r *http.Request, user int) {
		if user != sale.RootID {
			refuse(w, 401, "INVALID_ACCESS_TOKEN")
			return
		}
		respond(w, 200, append([]audit.Order{}, s.orders...))
	}))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if s.users == 0 {
			refuse(w, 404, "NOT_FOUND")
			return
		}
		respond(w, 200, map[string]any{"sale": "shop", "users": s.users})
	})
	return mux
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	respond(w, status, map[string]string{"code": code, "message": "no"})
}

func (s *shop) login(w http.ResponseWriter, r *http.Request) {
	var in struct{ Username, Password string }
	err := json.NewDecoder(r.Body).Decode(&in)
	id := 1
	if in.Username != "root" {
		id, _ = strconv.Atoi(strings.TrimPrefix(in.Username, "user"))
	}
	want := "pass" + strconv.Itoa(id)
	if id == 1 {
		want = "secret"
	}
	if err != nil || in.Password != want {
		refuse(w, 403, "USER_AUTH_FAIL")
		return
	}
	respond(w, 200, map[string]any{"user_id": id, "username": in.Username,
		"access_token": fmt.Sprintf("token-%d", id)})
}

// guard checks the token, counts how the request looks, and holds the shop's lock for the call.
func (s *shop) guard(call func(http.ResponseWriter, *http.Request, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		query, header := r.URL.Query().Get("access_token"), r.Header.Get("Access-Token")
		if query != "" {
			s.seen.tokenInQuery++
		} else {
			s.seen.tokenInHeader++
		}
		if r.URL.Path == "/foods" && r.ContentLength == 2 || r.URL.Path == "/carts" && r.ContentLength == 2 {
			s.seen.bodies++
		}
		user, err := strconv.Atoi(strings.TrimPrefix(query+header, "token-"))
		if err != nil {
			refuse(w, 401, "INVALID_ACCESS_TOKEN")
			return
		}
		call(w, r, user)
	}
}

func (s *shop) add(w http.ResponseWriter, r *http.Request, _ int) {
	var in audit.Item
	err := json.NewDecoder(r.Body).Decode(&in)
	id := r.PathValue("id")
	cart, found := s.carts[id]
	if err != nil || !found || in.Count != 1 {
		refuse(w, 404, "CART_NOT_FOUND")
		return
	}
	at := slices.IndexFunc(cart, func(it audit.Item) bool { return it.FoodID == in.FoodID })
	if at < 0 {
		s.carts[id] = append(cart, in)
	} else {
		cart[at].Count++
	}
	if s.adds++; s.adds == 10 && s.lie == failsAdd {
		refuse(w, 503, "SERVICE_UNAVAILABLE")
		return
	}
	w.WriteHeader(204)
}

func (s *shop) order(w http.ResponseWriter, r *http.Request, user int) {
	var in struct {
		CartID string `json:"cart_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.attempts++
	s.onOrder(s.attempts)
	key := r.Header.Get("Idempotency-Key")
	if !strings.HasPrefix(in.CartID, fmt.Sprintf("cart-%d-", user)) && s.lie != sellsAnyCart {
		refuse(w, 401, "NOT_AUTHORIZED_TO_ACCESS_CART")
		return
	}
	if s.ordered[user] && s.lie != sellsAgain {
		if key != "" && s.keys[user] == key && s.lie != forgetsKey {
			respond(w, 200, map[string]string{"id": fmt.Sprintf("order-%d", user)})
			return
		}
		refuse(w, 403, "ORDER_OUT_OF_LIMIT")
		return
	}
	cart := s.carts[in.CartID]
	for _, it := range cart {
		if s.lie != sellsTwice && s.foods[it.FoodID-1].Stock < it.Count {
			refuse(w, 403, "FOOD_OUT_OF_STOCK")
			return
		}
	}
	s.ordered[user], s.keys[user] = true, key
	placed := audit.Order{ID: fmt.Sprintf("order-%d", user), UserID: uint32(user), Items: cart}
	if s.lie == sellsAgain {
		placed.ID += fmt.Sprintf("-%d", s.attempts)
	}
	s.sold++
	s.keep(w, placed, s.sold == 10)
}

// keep writes the order down and answers; an odd one is what the lie is about.
func (s *shop) keep(w http.ResponseWriter, o audit.Order, odd bool) {
	if odd && s.lie == losesOrder {
		respond(w, 200, map[string]string{"id": o.ID})
		return
	}
	if odd && s.lie == mixesCarts {
		for id, cart := range s.carts {
			if !strings.HasPrefix(id, fmt.Sprintf("cart-%d-", o.UserID)) && len(cart) > 0 &&
				fmt.Sprint(cart) != fmt.Sprint(o.Items) {
				o.Items = cart
				break
			}
		}
	}
	if odd && s.lie == swapsFood {
		next := int64(1)
		for slices.ContainsFunc(o.Items, func(it audit.Item) bool { return it.FoodID == next }) {
			next++
		}
		o.Items[0].FoodID = next
	}
	for _, it := range o.Items {
		o.Total += s.foods[it.FoodID-1].Price * it.Count
		if s.lie != sellsTwice {
			s.foods[it.FoodID-1].Stock -= it.Count
		}
	}
	s.orders = append(s.orders, o)
	switch {
	case odd && s.lie == readsStale:
		s.stale = int(o.UserID)
	case odd && s.lie == losesPiece:
		s.foods[0].Stock--
	case odd && s.lie == doublesPiece:
		s.foods[0].Stock++
	case len(s.orders) == 50 && s.lie == forgetsLast:
		s.forget(3)
	}
	switch {
	case odd && s.lie == hangsUp:
		panic(http.ErrAbortHandler)
	case odd && (s.lie == failsOrder || s.lie == forgetsKey):
		refuse(w, 503, "SERVICE_UNAVAILABLE")
	case odd && s.lie == hidesOrder:
		refuse(w, 403, "ORDER_OUT_OF_LIMIT")
	case odd && s.lie == takesMany:
		twin := o
		twin.ID += "-again"
		s.orders = append(s.orders, twin)
		for _, it := range o.Items {
			s.foods[it.FoodID-1].Stock -= it.Count
		}
		respond(w, 200, map[string]string{"id": o.ID})
	default:
		respond(w, 200, map[string]string{"id": o.ID})
	}
}

// forget undoes the last orders before the newest one.
func (s *shop) forget(n int) {
	newest := len(s.orders) - 1
	for _, o := range s.orders[newest-n : newest] {
		delete(s.ordered, int(o.UserID))
		for _, it := range o.Items {
			s.foods[it.FoodID-1].Stock += it.Count
		}
	}
	s.orders = slices.Delete(s.orders, newest-n, newest)
}
