package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/client"
	"flashsale/internal/stand"
	"flashsale/redisx/redistest"
)

// fake stands before a server that has no GET /live yet, and plays the calls of the sale's life. All other
// calls go to the server.
type fake struct {
	*httputil.ReverseProxy
	redis *redistest.Server
	id    string
	root  *client.Client

	mu             sync.Mutex
	state          string
	opens, closes  *time.Time
	log            []map[string]any
	added, initial int
}

func startFake(t *testing.T, address string, redis *redistest.Server, id string, initial int) string {
	t.Helper()
	f := &fake{ReverseProxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address}),
		redis: redis, id: id, root: &client.Client{Address: address}, state: "open", initial: initial}
	t.Cleanup(f.root.HangUp)
	stand.Must(t, f.root.Login("root", rootPassword))
	s := httptest.NewServer(f)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return strings.TrimPrefix(s.URL, "http://")
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch call := r.Method + " " + r.URL.Path; {
	case call == "GET /live":
		f.live(w, r)
	case call == "GET /sale":
		f.json(w, f.sale())
	case call == "PUT /admin/sale":
		f.change(w, r)
	case call == "GET /admin/log":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.json(w, append([]map[string]any{}, f.log...))
	case call == "GET /admin/orders" && r.URL.Query().Get("format") == "csv":
		f.csv(w)
	case r.Method == "POST" && strings.HasPrefix(r.URL.Path, "/admin/foods/"):
		f.restock(w, r)
	case call == "POST /orders" && f.now() != "open":
		code := map[string]string{"scheduled": "SALE_NOT_OPEN", "paused": "SALE_PAUSED", "closed": "SALE_CLOSED"}
		w.WriteHeader(403)
		f.json(w, map[string]string{"code": code[f.now()], "message": "抢购"})
	default:
		f.ReverseProxy.ServeHTTP(w, r)
	}
}

func (f *fake) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fake) now() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == "scheduled" && f.opens != nil && !time.Now().Before(*f.opens) {
		f.state = "open"
	}
	if f.closes != nil && !time.Now().Before(*f.closes) {
		f.state = "closed"
	}
	return f.state
}

func (f *fake) left() (left []int, sum int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	foods, err := f.root.Foods()
	if err != nil {
		return nil, 0
	}
	for _, food := range foods {
		left, sum = append(left, food.Stock), sum+food.Stock
	}
	return left, sum
}

func (f *fake) orders() int {
	text, _ := stand.AskRedis(f.redis.Socket, time.Second, "EVAL", "return #redis.call('keys', 'o_*')", "0")
	n, _ := strconv.Atoi(text)
	return n
}

func (f *fake) sale() map[string]any {
	state := f.now()
	_, left := f.left()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	return map[string]any{"id": f.id, "state": state, "now": now,
		"opens_at": f.opens, "closes_at": f.closes, "pieces_left": left,
		"pieces_sold": f.initial + f.added - left, "orders": f.orders()}
}

func (f *fake) change(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		State  string          `json:"state"`
		Opens  json.RawMessage `json:"opens_at"`
		Closes json.RawMessage `json:"closes_at"`
	}
	_ = json.NewDecoder(r.Body).Decode(&wanted)
	f.mu.Lock()
	if wanted.State != "" {
		f.state = wanted.State
		f.entry("state", map[string]any{"state": wanted.State})
	}
	if wanted.Opens != nil {
		f.opens = nil
		_ = json.Unmarshal(wanted.Opens, &f.opens)
		_ = json.Unmarshal(wanted.Closes, &f.closes)
		f.entry("times", map[string]any{"opens_at": f.opens, "closes_at": f.closes})
		if f.opens != nil && f.opens.After(time.Now()) {
			f.state = "scheduled"
		}
	}
	f.mu.Unlock()
	f.json(w, f.sale())
}

func (f *fake) entry(what string, more map[string]any) {
	more["at"], more["by"], more["what"] = time.Now().UTC(), "root", what
	f.log = append(f.log, more)
}

func (f *fake) restock(w http.ResponseWriter, r *http.Request) {
	var wanted struct{ Add int }
	_ = json.NewDecoder(r.Body).Decode(&wanted)
	food := strings.Split(r.URL.Path, "/")[3]
	text, err := stand.AskRedis(f.redis.Socket, time.Second, "HINCRBY", "stock_"+f.id, food,
		fmt.Sprint(wanted.Add))
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	f.mu.Lock()
	f.added += wanted.Add
	f.entry("stock", map[string]any{"food": food, "add": wanted.Add, "stock": text})
	f.mu.Unlock()
	n, _ := strconv.Atoi(text)
	id, _ := strconv.Atoi(food)
	f.json(w, map[string]any{"id": id, "price": 1, "stock": n})
}

func (f *fake) csv(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	orders, _ := f.root.AllOrders()
	_, _ = io.WriteString(w, "order,user\n")
	for _, o := range orders {
		fmt.Fprintf(w, "%s,%d\n", o.ID, o.User)
	}
}

func (f *fake) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	id := 0
	send := func(event string, v any) {
		id++
		text, _ := json.Marshal(v)
		fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", id, event, text)
		w.(http.Flusher).Flush()
	}
	send("history", map[string]any{"from": time.Now().Unix() - 600, "orders": make([]int, 600)})
	if r.Header.Get("Access-Token") != "" {
		send("top", map[string]any{"keys": []map[string]any{{"key": "call:POST /orders:2xx", "hits": 12}}})
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for n, before := 0, f.orders(); ; n++ {
		left, _ := f.left()
		send("sale", f.sale())
		send("stock", map[string]any{"left": left})
		if n%4 == 0 {
			orders := f.orders()
			send("pace", map[string]any{"t": time.Now().Unix(), "orders": orders - before, "p50_ms": 1.2,
				"p99_ms": 8.4, "connections": 12, "redis": "up", "ledger_lag": nil,
				"refused": map[string]int{"FOOD_OUT_OF_STOCK": n % 3}})
			before = orders
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
