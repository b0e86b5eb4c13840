package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// mixed are pipelines of hot and cold calls; the seeds of FuzzEngines are these and all short probes.
var mixed = []string{
	hotCalls + coldCalls, coldCalls + hotCalls, strings.Repeat(hotCall+coldCall, 5),
	hotCalls + "HEAD /orders HTTP/1.1\r\nHost: shop\r\nAccess-Token: {token}\r\n\r\n" + hotCalls,
	addCall + orderCall + orderCall + ordersCall + listCall + orderCall,
	addCall + strings.Repeat(coldCall, 3) + strings.Replace(orderCall, "HTTP/1.1", "HTTP/1.0", 1) + hotCall,
	coldCall + strings.Replace(ordersCall, "HTTP/1.1\r\n", oldKept, 1) + hotCall,
	strings.Replace(hotCall+listCall, "HTTP/1.1\r\n", oldKept, -1) + hotCall,
	hotCall + strings.Replace(coldCall, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1) + hotCall,
	coldCall + "GET /readyz HTTP/1.1\r\n\r\n" + hotCall, coldCall + hotCall[:30], hotCall + coldCall[:30],
	coldCall + rawPost(rawChunked+"Expect: 100-continue\r\n", rawOneShot) + coldCall,
	hotCall + rawCall("GET", "/orders", rawToken+rawChunked+"Expect: 100-continue\r\n",
		"2;a=b\r\n{}\r\n0\r\nAccess-Token: {root}\r\n\r\n") + hotCall + coldCall,
	hotCall + rawCall("GET", "/orders", rawLength+"Expect: 100-continue\r\n", "") + coldCall,
	rawCall("GET", "/orders", "", "") + ordersCall + "\r\n\r\n" + hotCall + "\r\n",
	// Bodies that take a large buffer, with others around them; and those that are refused.
	addCall + rawLong(30<<10) + hotCall + coldCall, rawLong(20000) + hotCall + rawLong(9000) + coldCall,
	strings.Replace(rawPieces(rawPadded(20000), 1000), "/login", "/long", 1) + rawLong(9000) + coldCall,
	hotCall + strings.Replace(rawLong(32768), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1) + coldCall,
	strings.Repeat(rawLong(10000), 3) + hotCall,
	addCall + strings.Replace(orderCall, "\r\n\r\n", "\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n", 1),
	rawPieces(rawPadded(2000), 1000) + hotCall, hotCall + rawPost("Content-Length: 1025\r\n", rawPadded(1025)),
	strings.Replace(rawLong(2000), "/long", "http://shop/l%6fng?x=/y", 1) + hotCall,
	strings.Replace(rawLong(2000), "POST", "PUT", 1) + hotCall,
}

// rawLong is a call with a long body, see takeLong.
func rawLong(bytes int) string {
	return rawCall("POST", "/long", fmt.Sprintf("Content-Length: %d\r\n", bytes), rawSpaces(bytes))
}

const oldKept = "HTTP/1.0\r\nConnection: keep-alive\r\n"

// Calls of which mixed is made.
var (
	hotCall    = rawCall("GET", "/foods", rawToken, "")
	coldCall   = rawLine("GET /orders HTTP/1.1")
	addCall    = rawFilled("PATCH", "/carts/{cart}", `{"food_id":1,"count":2}`)
	orderCall  = rawFilled("POST", "/orders", `{"cart_id":"{cart}"}`)
	ordersCall = rawCall("GET", "/orders", rawToken, "")
	listCall   = rawCall("GET", "/admin/orders", rawRoot, "")

	hotCalls = rawPost(rawLength, rawLogin) + hotCall + rawCall("POST", "/carts", rawToken, "") + addCall +
		orderCall
	coldCalls = ordersCall + listCall + coldCall + rawLine("GET /readyz HTTP/1.1") +
		rawLine("GET /nothing HTTP/1.1") + rawLine("OPTIONS * HTTP/1.1")
)

// rawFilled is a call with the length that its body has once {cart} is filled in.
func rawFilled(method, path, body string) string {
	const cart = 32
	length := len(body) + strings.Count(body, "{cart}")*(cart-len("{cart}"))
	return rawCall(method, path, fmt.Sprintf("%sContent-Length: %d\r\n", rawToken, length), body)
}

// Both engines answer all probes the same, cut in two. (TestProbes has them whole.)
func TestEnginesAgree(t *testing.T) {
	r := newRivals(t)
	check := func(text string, cut int) {
		if text = r.filled(text); len(text) <= comparedMax {
			r.compare(t, cutInTwo(text, cut))
		}
	}
	for i, p := range slices.Concat(slices.Collect(maps.Values(rawTopics))...) {
		check(p.send+rawFollower, 7*i)
	}
	for _, p := range unfinishedProbes {
		check(p.send, len(p.send)/2)
	}
	for _, p := range expectProbes {
		check(p.send+p.body+rawFollower, len(p.send))
	}
}

// FuzzEngines sends the bytes of a connection to both engines, whole and in two pieces: all replies must be
// the same to the byte. In the bytes {token}, {root}, {cart} and {%cart} stand for what only the servers
// know.
func FuzzEngines(f *testing.F) {
	for i, text := range mixed {
		f.Add([]byte(text), 37*i)
	}
	for _, probes := range rawTopics {
		for _, p := range probes[:2] {
			f.Add([]byte(p.send+rawFollower), len(p.send)/2)
		}
	}
	r := newRivals(f)
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		if text := r.filled(string(raw)); len(text) <= comparedMax {
			r.compare(t, []string{text})
			r.compare(t, cutInTwo(text, cut))
		}
	})
}

// rivals are the two engines, which serve one sale, each on a port of its own.
type rivals struct {
	redis   *redistest.Server
	shops   [2]*shop
	address [2]string
	beside  [2]net.Conn // a second connection to each
	carts   uint64      // that have been used
	reset   string      // command that takes back what users have done
}

func newRivals(tb testing.TB, changes ...func(engine int, cfg *Config)) *rivals {
	tb.Helper()
	// The loop keeps its processor while it waits for a moment, and a fuzzer has one only.
	before := runtime.GOMAXPROCS(4)
	tb.Cleanup(func() { runtime.GOMAXPROCS(before) })
	r := &rivals{redis: redistest.Start(tb)}
	for i, open := range []opener{open, openOnLoop} {
		r.shops[i] = open(tb, "unix", r.redis.Socket)
		for _, change := range changes {
			r.shops[i].do(func() { change(i, &r.shops[i].cfg) })
		}
		r.shops[i].takeLong()
		r.address[i] = r.shops[i].listen(tb)
		c, err := net.Dial("tcp", r.address[i])
		testkit.Must(tb, err)
		tb.Cleanup(func() { c.Close() })
		r.beside[i] = c
	}
	const reset = `EVAL "for _, key in ipairs(redis.call('KEYS', '[oc]_*')) do redis.call('DEL', key) end ` +
		`for food = 1, 5 do redis.call('HSET', 'stock_%s', food, 10) end return 1" 0`
	r.reset = fmt.Sprintf(reset, r.shops[0].cfg.Sale.ID())
	return r
}

const (
	pieceMax    = 8 << 10 // bytes that surely come in one piece
	comparedMax = headBytesMax + longestBodyMax
)

// compare sends pieces to both engines.
func (r *rivals) compare(t *testing.T, pieces []string) {
	t.Helper()
	goroutines, loop := r.hear(t, 0, pieces), r.hear(t, 1, pieces)
	if !bytes.Equal(goroutines, loop) {
		t.Errorf("%q is answered\n%q by goroutines and\n%q by the loop", pieces, goroutines, loop)
	}
}

// filled is a text with the tokens that the servers know, and with a new cart: of one cart begun again and
// again the oldest would be dropped, the cart itself.
func (r *rivals) filled(text string) string {
	r.carts++
	s := r.shops[0]
	return s.fillerWith(string(s.keys.AppendCart(nil, 2, r.carts))).Replace(text)
}

func cutInTwo(text string, cut int) []string {
	at := int(uint(cut) % uint(len(text)+1))
	return []string{text[:at], text[at:]}
}

// hear sends pieces on a new connection to one engine, ends its side, and returns all that the engine
// answers.
func (r *rivals) hear(t *testing.T, engine int, pieces []string) []byte {
	t.Helper()
	if got := r.redis.Do(t, r.reset); got != ":1" {
		t.Fatal(got)
	}
	c, err := net.Dial("tcp", r.address[engine])
	testkit.Must(t, err)
	defer c.Close()
	testkit.Must(t, c.SetDeadline(time.Now().Add(testkit.Patience)))
	for i, piece := range pieces {
		if i > 0 {
			r.pass(t, engine)
		}
		_, _ = io.WriteString(c, piece) // it fails where the connection is refused already
	}
	_ = c.(*net.TCPConn).CloseWrite() // so does this
	heard, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // for what comes behind the last request
		t.Fatalf("%q: after %q: %v", pieces, heard, err)
	}
	return settled(heard, len(pieces) > 1 || len(pieces[0]) > pieceMax)
}

// pass returns when an engine has most likely read what was sent before.
func (r *rivals) pass(t *testing.T, engine int) {
	t.Helper()
	c := r.beside[engine]
	send(t, c, rawLine("GET /foods HTTP/1.1"))
	reply, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_, err = io.Copy(io.Discard, reply.Body)
	}
	testkit.Must(t, err)
}

var (
	changing = regexp.MustCompile(`(\r\nDate: |"access_token":"|"cart_id":")[^\r"]*`)
	interim  = []byte("HTTP/1.1 100 Continue\r\n\r\n")
)

// settled takes out of replies what the clock and chance decide: dates, tokens with their time, the IDs
// of new carts; and where a request came in pieces, whether it was there when the server looked for it.
func settled(replies []byte, pieces bool) []byte {
	replies = changing.ReplaceAll(replies, []byte("$1"))
	if pieces {
		replies = bytes.ReplaceAll(replies, interim, nil)
	}
	return replies
}
