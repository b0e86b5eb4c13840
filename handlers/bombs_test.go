package handlers

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/serve/framing"
	"flashsale/internal/testkit"
)

// filled repeats a text up to a number of bytes between two others.
func filled(before, text, after string, bytes int) string {
	return before + strings.Repeat(text, max(0, bytes-len(before)-len(after))/len(text)) + after
}

// bombs are bodies of a number of bytes that could make much work.
func bombs(bytes int) map[string]string {
	list := map[string]string{
		"spaces": filled("", " ", "{}", bytes), "numbers": filled(`{"x":`, "1", "}", bytes),
		"escaped names":      filled(`{"username":"x","password":[1]`, `,"\n":1`, "}", bytes),
		"long escaped names": filled(`{"x":1`, `,"\u0061\u0061\u0061\u0061\u0061\u0061\u0061":1`, "}", bytes),
		"escaped right names": filled(`{"x":1`, `,"c\u0061rt_id":"","p\u0061ssword":"","\u0063ount":1`,
			"}", bytes),
		"names":       filled(`{"x":1`, `,"":1`, "}", bytes),
		"right names": filled(`{"x":1`, `,"cart_id":"\n"`, "}", bytes),
		"arrays":      filled(`{"x":`, "[", "", bytes), "objects": filled("", `{"":`, "", bytes),
		"open string": filled(`{"x":"`, `\"`, "", bytes), "garbage": filled(`{"x":1}`, "\xff", "", bytes),
		"whole arrays": `{"x":` + strings.Repeat("[", bytes/2-5) + strings.Repeat("]", bytes/2-5) + "}",
	}
	for name, text := range map[string]string{"escapes": `\u0061`, "halves": `\ud800`, "no UTF-8": "\xff",
		"pairs": `\ud83d\ude00`, "letters": "a", "HTML": "<", "quotes": `\"`} {
		list[name] = filled(`{"username":"`, text, `","password":"x","cart_id":"","food_id":1,"count":1}`, bytes)
	}
	return list
}

// hotLines are the request lines of the calls that run on the loop, and of others that need no Redis.
var hotLines = []string{"POST /login", "GET /foods", "POST /carts", "PATCH /carts/CART", "POST /orders",
	"GET /sale", "GET /healthz", "GET /nothing", "PUT /foods", "OPTIONS /foods"}

// hotRequests are requests of a hot call: with each body, and with heads of all that they may hold.
func hotRequests(line string, bodies map[string]string) map[string]string {
	const head = "%s HTTP/1.1\r\nHost: shop\r\nAccess-Token: TOKEN\r\n"
	write := func(line, fields, body string) string {
		return fmt.Sprintf(head+"Content-Length: %d\r\n%s\r\n%s", line, len(body), fields, body)
	}
	list := map[string]string{}
	for name, body := range bodies {
		list[name] = write(line, "", body)
	}
	right := `{"username":"user2","password":"no","cart_id":"CART","food_id":1,"count":1}`
	for name, fields := range map[string]string{
		"cookies": filled("", "Cookie: a=b; c=d\r\n", "", 1700), "names": filled("", "A:\r\n", "", 380),
		"one cookie":   filled("Cookie: ", "a=b;", "\r\n", 7800),
		"addresses":    filled("X-Forwarded-For: 192.0.2.1", ",127.0.0.1", "\r\n", 7800),
		"IPv6":         filled("X-Forwarded-For: 192.0.2.1", ",::1", "\r\n", 7800),
		"address":      filled("X-Forwarded-For: ", "1", "\r\n", 7800),
		"many lists":   filled("", "X-Forwarded-For: "+strings.Repeat("127.0.0.1,", 7)+"127.0.0.1\r\n", "", 7700),
		"tokens":       filled("", "Access-Token: "+strings.Repeat("A", 32)+"\r\n", "", 4500),
		"options":      filled("Connection: ", "a,", "\r\n", 7800),
		"many options": filled("", "Connection: "+filled("", "a,", "", 60)+"\r\n", "", 7000),
		"keys":         filled("", "Idempotency-Key: a\r\n", "", 1800),
		"long key":     filled("Idempotency-Key: ", "é", "\r\n", 7800),
		"IDs":          filled("", "X-Request-Id: a\r\n", "", 1500),
	} {
		list["fields: "+name] = write(line, fields, right)
	}
	for name, query := range map[string]string{
		"token": filled("?", "access_token=%41%41&", "", 950), "names": filled("?", "a&", "", 950),
		"escapes": filled("?access_token=", "%41", "", 950), "empty": filled("?", "&", "", 950),
		"path": filled("/", "%2e/", "", 950), "slashes": filled("", "/", "", 950),
		"dots": filled("", "/..", "", 950),
	} {
		list["target: "+name] = write(line+query, "", right)
		list["escaped target: "+name] = write(strings.Replace(line, "a", "%61", 1)+query, "", right)
	}
	chunked := fmt.Sprintf(head, line) + "Transfer-Encoding: chunked\r\n\r\n"
	list["chunks"] = chunked + strings.Repeat("1\r\n{\r\n", 165) + "0\r\n\r\n"
	list["extensions"] = chunked + filled("2", ";a=b", "\r\n{}\r\n0\r\n\r\n", 1000)
	list["trailers"] = chunked + "0\r\n" + strings.Repeat("X-Forwarded-For: 127.0.0.1,::1\r\n", 90) + "\r\n"
	return list
}

// bombed returns a closed shop with all that looks at a request switched on, and serve, which does with a
// request what the loop does, from the first byte to the reply. It reports whether the request was whole.
func bombed(tb testing.TB) (serve func(text []byte) bool, fill *strings.Replacer) {
	closed, fill := closedShop(tb)
	cfg := closed.cfg
	rules, err := limits.ParseRules("rules", "login_failed by ip 1000000/m; login_failed by user 1000000/m; "+
		"order by ip 1000000/m; cart by ip 1000000/m")
	testkit.Must(tb, err)
	cfg.TrustedProxies, cfg.RequestIDs = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("::1/128")}, true
	cfg.AccessLog = accesslog.New(accesslog.Config{Every: 1, Out: io.Discard, Dropped: &figures.Counter{},
		NewLogger: func(io.Writer) *slog.Logger { return slog.Default() }}) // nothing takes its records
	s := New(cfg)
	s.Add(Limits(limits.New(limits.Config{Rules: rules})))
	s.Publish(snapshotOf([]int64{10, 10, 10, 10, 10}))
	var (
		ctx    fasthttp.RequestCtx
		source bytes.Reader
		buffer = bufio.NewReaderSize(&source, s.sizes.Longest())
		conn   recording
		reply  []byte
	)
	return func(text []byte) bool {
		var r framing.Request
		if v := r.Scan(text, &s.sizes); v != framing.Whole {
			return false
		}
		text = r.Settle(text)[:r.Size()]
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.ResetUserValues()
		ctx.Init2(&conn, nil, false)
		source.Reset(text)
		buffer.Reset(&source)
		err := ctx.Request.Header.Read(buffer)
		if err == nil {
			err = ctx.Request.ContinueReadBody(buffer, len(text), false)
		}
		if err != nil {
			s.malformed(&ctx)
		} else {
			s.handle(&ctx)
		}
		reply = ctx.Response.Header.AppendBytes(reply[:0])
		return true
	}, fill
}

// No request makes more work than in proportion to its bytes: what it makes the server allocate is counted,
// which a copy, a text or a number that is read does, and each json.Unmarshal several times.
func TestBombsMakeLittleWork(t *testing.T) {
	const (
		mallocsMax  = 60
		bytesFixed  = 4 << 10
		bytesByByte = 16
	)
	if testkit.Race {
		t.Log("not counted under -race")
		return
	}
	testkit.KeepLog(t)
	serve, fill := bombed(t)
	for _, line := range hotLines {
		for name, text := range hotRequests(line, bombs(bodyBytesMax-10)) {
			text, least := []byte(fill.Replace(text)), runtime.MemStats{Mallocs: 1 << 30}
			for range 5 { // pools fill, and what is logged now and then allocates
				var before, after runtime.MemStats
				again := bytes.Clone(text)
				runtime.ReadMemStats(&before)
				if !serve(again) {
					t.Fatalf("%s, %s: refused: %.300q", line, name, text)
				}
				runtime.ReadMemStats(&after)
				if n := after.Mallocs - before.Mallocs; n < least.Mallocs {
					least.Mallocs, least.TotalAlloc = n, after.TotalAlloc-before.TotalAlloc
				}
			}
			most := uint64(bytesFixed + bytesByByte*len(text))
			if n, b := least.Mallocs, least.TotalAlloc; n > mallocsMax || b > most {
				t.Errorf("%s, %s: %d bytes make %d allocations of %d bytes", line, name, len(text), n, b)
			}
		}
	}
}

// BenchmarkHotCalls reports how long the worst request of each call holds the loop: one longer than 100 us
// would be a way to starve others.
func BenchmarkHotCalls(b *testing.B) {
	serve, fill := bombed(b)
	bodies := bombs(bodyBytesMax)
	for i, seed := range testkit.Seeds(b, "FuzzReadBody") {
		bodies[fmt.Sprint("seed ", i)] = seed[0]
	}
	for _, line := range hotLines {
		b.Run(line, func(b *testing.B) {
			best := map[string]time.Duration{}
			for b.Loop() {
				for name, text := range hotRequests(line, bodies) {
					text := []byte(fill.Replace(text))
					began := time.Now()
					serve(text)
					took := time.Since(began)
					if least, found := best[name]; !found || took < least {
						best[name] = took
					}
				}
			}
			worst := ""
			for name, took := range best {
				if took > best[worst] {
					worst = name
				}
			}
			b.Logf("the worst of %d: %s", len(best), worst)
			b.ReportMetric(float64(best[worst].Nanoseconds())/1000, "us/op-max")
		})
	}
}
