package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/payment"
)

const benchSecret = "whsec_YmVuY2ggc2lnbnMgdGhlc2UgZXZlbnRz"

// A load ends its held orders in every way. The audit finds them as they should be, with those whose holds
// end meanwhile, and its history is linearizable. A server that cannot serve the flags is named before the
// load.
func TestHeldOrdersEnd(t *testing.T) {
	requireTool(t, "redis-server")
	redis := launch.NewRedis(testkit.Folder(t))
	testkit.Must(t, redis.Start(t.Context()))
	t.Cleanup(redis.Kill)
	server := launch.StartServer(t, "", []string{"ROOT_PASSWORD=secret", "PAYMENT_KEY=key",
		"PAYMENT_SECRETS=" + benchSecret}, "-redis", redis.Socket, "-users", "201", "-foods", "10", "-hold", "3s",
		"-payment", "http://127.0.0.1:1/payments", "-payment-session", "1m")
	server.Serves(t)
	rep, stderr, code := bench(t, []string{server.Address}, 10, 1000, "-orders", "60", "-rate", "15")
	if code != 0 || len(failed(rep.Audit)) != 0 || len(rep.Audit) != 13 || rep.Payments == nil ||
		rep.Payments.Left != 60 {
		t.Fatalf("nobody pays: exit %d: %s %+v", code, stderr, rep.Audit)
	}
	shares := []string{"-pay", "0.6", "-late", "0.3", "-cancel", "0.3", "-payment-secret", benchSecret}
	for i, address := range []string{server.Address, closingFront(t, server.Address)} {
		name := "late payments buy again, but for buyers who have ordered again"
		if address != server.Address {
			name = "late payments are due to be given back"
		}
		testkit.Until(t, "end of all holds", func() bool { return piecesHeld(t, server.Address) == 0 })
		before, file := refundsDue(t, server.Address), filepath.Join(t.TempDir(), "history")
		rep, stderr, code := bench(t, []string{address}, 10, 1000,
			append(shares, "-orders", "60", "-history", file, "-seed", strconv.Itoa(7+i))...)
		if code != 0 || len(failed(rep.Audit)) != 0 || len(rep.Audit) != 14 {
			t.Fatalf("%s: exit %d: %s %+v", name, code, stderr, rep.Audit)
		}
		p := rep.Payments
		if p.HoldSeconds != 3 || p.GivenBack == 0 || p.PaidLate == 0 || p.Left == 0 || p.Doubled == 0 ||
			p.GivenBack+p.Paid+p.PaidLate+p.Left != 60 || int64(p.Paid+p.PaidLate)+p.Doubled != p.Events {
			t.Errorf("%s: payments = %+v", name, p)
		}
		due := refundsDue(t, server.Address) - before
		if again := address == server.Address; due == 0 || due > p.PaidLate || again && due == p.PaidLate {
			t.Errorf("%s: %d payments are due to be given back of %+v", name, due, p)
		}
		if verdict, code := check(t, file); code != 0 {
			t.Errorf("%s: exit %d:\n%s", name, code, verdict)
		}
		if strings.Contains(rep.Command, benchSecret) {
			t.Errorf("the secret is in %q", rep.Command)
		}
	}
	for line, want := range map[string]string{
		"-late=1 -late-wait=1s -payment-secret=" + benchSecret: "the sale holds orders for 3s, and -late waits " +
			"for the end of 1s at most; start the server with a shorter -hold, or give -late-wait\n",
		"-pay=1 -payment-secret=whsec_b3RoZXI=": "the server answers an event with 401; -payment-secret must be " +
			"one of its -payment-secrets\n",
	} {
		_, stderr, code := bench(t, []string{server.Address}, 10, 1000, strings.Fields(line)...)
		if code != exitUsage || !strings.HasSuffix(stderr, "bad usage: "+want) {
			t.Errorf("%s: exit %d, stderr %q", line, code, stderr)
		}
	}
}

// A history cannot tell when pieces come back that others hold.
func TestHistoryNeedsFreePieces(t *testing.T) {
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		respond(w, 200, map[string]int{"hold_seconds": 60, "pieces_held": 2})
	}))
	_, err := payment.Open(t.Context(), payment.Options{History: history.NewWriter(io.Discard)},
		[]string{address}, nil, testkit.Patience, 1)
	if want := "bad usage: 2 pieces are held, and -history cannot tell when they come back; begin when their " +
		"holds have ended"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// asRoot makes a call as root.
func asRoot(address, method, path, body string, into any) error {
	c := client.Client{Address: address}
	defer c.HangUp()
	if err := c.Login("root", "secret"); err != nil {
		return err
	}
	return c.Call(method, path, body, into)
}

// piecesHeld is how many pieces are held.
func piecesHeld(t *testing.T, address string) (pieces int) {
	t.Helper()
	var sums struct{ Foods []struct{ Held int } }
	testkit.Must(t, asRoot(address, "GET", "/admin/sums", "", &sums))
	for _, food := range sums.Foods {
		pieces += food.Held
	}
	return pieces
}

// refundsDue is how many payments are due to be given back.
func refundsDue(t *testing.T, address string) int {
	t.Helper()
	var due json.RawMessage
	testkit.Must(t, asRoot(address, "GET", "/admin/refunds?state=due", "", &due))
	return strings.Count(string(due), `"payment_id"`)
}

// closingFront is a way to a server that closes the sale when a buyer first looks whether a hold has ended.
func closingFront(t *testing.T, address string) string {
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	var once sync.Once
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/orders/") {
			once.Do(func() {
				if err := asRoot(address, "PUT", "/admin/sale", `{"state":"closed"}`, nil); err != nil {
					t.Error(err)
				}
			})
		}
		to.ServeHTTP(w, r)
	}))
}
