package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/rooms/traffic"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const (
	badTrafficKey = `{"code":"INVALID_KEY","message":"键无效"}`
	badRange      = `{"code":"INVALID_RANGE","message":"时间范围、步长或次数无效"}`
	noKey         = `{"code":"KEY_NOT_FOUND","message":"没有该键的统计"}`
)

// trafficConfig is the room at a time that does not change.
func (s *shop) trafficConfig(t *testing.T) traffic.Config {
	t.Helper()
	tiers, err := traffic.ParseRetention(traffic.DefaultRetention)
	testkit.Must(t, err)
	return traffic.Config{Redis: s.redis.Config, Sale: "sale", Tiers: tiers, Zone: time.UTC, KeysMax: 100,
		Now: func() time.Time { return time.Date(2026, 3, 2, 10, 20, 30, 0, time.UTC) }}
}

// withTraffic switches the room on. What is returned flushes it: it ends the room and begins another one, as
// a restart of the server does.
func (s *shop) withTraffic(t *testing.T) (flush func()) {
	t.Helper()
	end, others := func() {}, slices.Clone(s.rooms)
	begin := func() {
		room := traffic.New(s.trafficConfig(t))
		s.rooms = others
		s.join(Traffic(room))
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = room.Run(ctx) }) // it returns nil
		end = func() {
			stop()
			running.Wait()
		}
		testkit.Until(t, "connection of the room", func() bool {
			_, err := room.Top(span(t, "1h"), 1)
			return err == nil
		})
	}
	begin()
	t.Cleanup(func() { end() })
	return func() {
		end()
		begin()
	}
}

func span(t *testing.T, text string) traffic.Span {
	t.Helper()
	s, err := traffic.ParseSpan(text)
	testkit.Must(t, err)
	return s
}

var service = []string{"Authorization", "Bearer " + serviceToken}

var totalOf = regexp.MustCompile(`"total":(\d+)`)

// total is the hits of a key in the last hour, as text, "" where there is none.
func (s *shop) total(t *testing.T, key string) string {
	t.Helper()
	_, body, _ := s.call(t, 0, "GET", "/traffic?last=1h&key="+url.QueryEscape(key), "", service...)
	if found := totalOf.FindStringSubmatch(body); found != nil {
		return found[1]
	}
	return ""
}

// What other programs count is answered to the byte.
func TestTrafficCalls(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		flush := s.withTraffic(t)
		s.expect(t, 0, "GET", "/traffic?key=page&last=1h", "", 404, noKey, service...)
		s.expect(t, 0, "POST", "/traffic/hit", `{"key":"page"}`, 204, "", service...)
		s.expect(t, 1, "POST", "/traffic/hit", `{"key":"p\u0061ge","n":4,"at":1772446745}`, 204, "")
		s.expect(t, 0, "POST", "/traffic/hit", `{"hits":[{"key":"page","n":2},{"key":"ü/ ?"}]}`, 204, "",
			service...)
		s.expect(t, 0, "POST", "/traffic/hit", `{"hits":[]}`, 204, "", service...)
		flush()
		s.expect(t, 1, "GET", "/traffic?key=page&from=2026-03-02T10:17&to=1772446920&tz=America/New_York", "",
			400, badRange) // 10:17 there is after it
		s.expect(t, 1, "GET", "/traffic?key=page&from=2026-03-02T10:18&to=1772446920&step=1m", "", 200,
			`{"key":"page","from":"2026-03-02T10:18:00Z","to":"2026-03-02T10:22:00Z","tz":"UTC","step":"1m",`+
				`"data_step":"1m","total":7,"points":[{"at":"2026-03-02T10:18:00Z","hits":null},`+
				`{"at":"2026-03-02T10:19:00Z","hits":4},{"at":"2026-03-02T10:20:00Z","hits":3,"partial":true},`+
				`{"at":"2026-03-02T10:21:00Z","hits":null}]}`)
		s.expect(t, 1, "GET", "/traffic?key=page&from=1772446750&step=1h", "", 200, // in the middle of a minute
			`{"key":"page","from":"2026-03-02T10:19:10Z","to":"2026-03-02T11:00:00Z","tz":"UTC","step":"1h",`+
				`"data_step":"1m","total":3,"points":[{"at":"2026-03-02T10:19:10Z","hits":3,"partial":true,`+
				`"approximate":true}]}`)
		s.expect(t, 0, "GET", "/traffic?key=page&last=1d&step=1d&tz=Asia/Kolkata", "", 200,
			`{"key":"page","from":"2026-03-02T00:00:00+05:30","to":"2026-03-03T00:00:00+05:30","tz":"Asia/Kolkata",`+
				`"step":"1d","data_step":"1m","total":7,"points":[{"at":"2026-03-02T00:00:00+05:30","hits":7,`+
				`"partial":true}]}`, service...)
		s.expect(t, 0, "GET", "/traffic/top?last=5m&n=1", "", 200,
			`{"from":"2026-03-02T10:15:00Z","to":"2026-03-02T10:25:00Z","keys":[{"key":"page","hits":7}],`+
				`"others_at_most":4}`, service...)
		if got := s.total(t, "ü/ ?"); got != "1" {
			t.Errorf("a key of odd characters has %q hits", got)
		}
	})
}

func TestTrafficRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		flush := s.withTraffic(t)
		for _, call := range [][3]string{{"POST", "/traffic/hit", `{"key":"x"}`},
			{"GET", "/traffic?key=x&last=1h"}, {"GET", "/traffic/top"}} {
			s.expect(t, 0, call[0], call[1], call[2], 401, invalidToken)
			s.expect(t, 2, call[0], call[1], call[2], 403, notAllowed) // a user who is not root
			s.expect(t, 0, call[0], call[1], call[2], 401, invalidToken, "Authorization", "Bearer x")
		}
		for body, want := range strictBodies(`{"key":"x"}`, "key", "n", "at", "hits") {
			s.expect(t, 1, "POST", "/traffic/hit", body, 400, want)
		}
		for body, want := range map[string]string{
			`{"key":7}`: malformed, `{"key":null}`: malformed, `{"key":"x","n":"1"}`: malformed,
			`{"key":"x","n":1.5}`: malformed, `{"key":"x","at":"now"}`: malformed, `{"hits":{}}`: malformed,
			`{"hits":null}`: malformed, `{"hits":[7]}`: malformed, `{"hits":[{"key":"x"},{}]}`: malformed,
			`{"key":"\ud800"}`: malformed, "{\"key\":\"\xff\"}": malformed,
			`{"hits":"x"}`: malformed, `{"key":"x","hits":[{"key":"y"}]}`: malformed,
			`{"n":2,"hits":[{"key":"y"}]}`: malformed, `{"at":86400,"hits":[{"key":"y"}]}`: malformed,
			`{"hits":[{"key":"x"},{"key":"y","count":2}]}`: unknownTo("count", "key", "n", "at"),
			`{"key":"x","at":-62135596800}`:                badRange, // the zero time of Go
			`{"hits":[null]}`:                              malformed,
			`{"key":""}`:                                   badTrafficKey, `{"key":"a\u0000"}`: badTrafficKey,
			`{"key":"call:x"}`:      badTrafficKey,
			`{"key":"food:1:sold"}`: badTrafficKey, `{"key":"` + strings.Repeat("x", 129) + `"}`: badTrafficKey,
			`{"key":"x","n":0}`: badRange, `{"key":"x","n":-1}`: badRange, `{"key":"x","n":1000000001}`: badRange,
			`{"key":"x","at":1}`: badRange, `{"key":"x","at":9999999999}`: badRange,
			`{"hits":[{"key":"x"},{"key":"x","n":0}]}`: badRange,
		} {
			s.expect(t, 1, "POST", "/traffic/hit", body, 400, want)
		}
		for query, want := range map[string]string{
			"": badTrafficKey, "?last=1h": badTrafficKey, "?key=x": badRange, "?key=x&last=1": badRange,
			"?key=x&last=1h&step=7m": badRange, "?key=x&last=1h&from=2026-01-01": badRange,
			"?key=x&last=1h&to=2026-01-01": badRange, "?key=x&to=2026-01-01": badRange,
			"?key=x&from=2026-01-02&to=2026-01-01": badRange, "?key=x&from=2026-01-01&to=2026-01-01": badRange,
			"?key=x&last=1h&tz=Mars/Olympus": badRange, "?key=x&last=1h&tz=../etc/passwd": badRange,
			"?key=x&from=yesterday&to=2026-01-01": badRange,
		} {
			s.expect(t, 1, "GET", "/traffic"+query, "", 400, want)
		}
		s.expect(t, 1, "POST", "/traffic/hit", `{"key":"x"}`, 204, "")
		flush()
		if got := s.total(t, "x"); got != "1" {
			t.Errorf("%q hits: one that was refused counts", got)
		}
		s.expect(t, 1, "GET", "/traffic?key=x&last=1y&step=1m", "", 400, badRange) // too many points
		for _, query := range []string{"?last=25h", "?last=x", "?n=0", "?n=x", "?n=101"} {
			s.expect(t, 1, "GET", "/traffic/top"+query, "", 400, badRange)
		}
		s.expect(t, 1, "PUT", "/traffic", "", 405, `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`)
	})
}

// Root and other programs list the keys, and root deletes some.
func TestTrafficKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		flush := s.withTraffic(t)
		s.expect(t, 0, "GET", "/traffic/keys", "", 200, `{"count":0,"max":100,"keys":[]}`, service...)
		s.expect(t, 0, "POST", "/traffic/hit", `{"hits":[{"key":"page"},{"key":"ü/ ?"}]}`, 204, "", service...)
		flush()
		var keys []string
		for next := "0"; next != ""; { // pages of one key
			_, body, _ := s.call(t, 1, "GET", "/traffic/keys?n=1&after="+next, "")
			var list struct {
				Count int
				Next  json.Number
				Keys  []struct {
					Key  string
					Last time.Time `json:"last_hit"`
				}
			}
			if err := json.Unmarshal([]byte(body), &list); err != nil || list.Count < 2 || len(list.Keys) > 1 {
				t.Fatalf("%s, %v", body, err)
			}
			for _, key := range list.Keys {
				keys = append(keys, key.Key)
				if want := time.Date(2026, 3, 2, 10, 20, 0, 0, time.UTC); !key.Last.Equal(want) {
					t.Errorf("%s was hit last at %v, want %v", key.Key, key.Last, want)
				}
			}
			next = list.Next.String()
		}
		slices.Sort(keys)
		want := []string{"call:GET /traffic/keys:2xx", "call:POST /traffic/hit:2xx", "page", "ü/ ?"}
		if !slices.Equal(keys, want) {
			t.Errorf("keys %q, want %q", keys, want)
		}
		s.expect(t, 1, "DELETE", "/traffic?key=%C3%BC/%20%3F", "", 204, "")
		s.expect(t, 1, "DELETE", "/traffic?key=%C3%BC/%20%3F", "", 404, noKey)
		s.expect(t, 1, "GET", "/traffic?last=1h&key=%C3%BC/%20%3F", "", 404, noKey)
		s.expect(t, 1, "DELETE", "/traffic", "", 400, badTrafficKey)
		for _, query := range []string{"?n=0", "?n=1001", "?n=x", "?after=-1", "?after=x"} {
			s.expect(t, 1, "GET", "/traffic/keys"+query, "", 400, badRange)
		}
		s.expect(t, 0, "DELETE", "/traffic?key=page", "", 401, invalidToken, service...)
		for user, want := range map[uint32]string{0: invalidToken, 2: notAllowed} {
			status := 401 + int(user) // 403 for who has a token
			s.expect(t, user, "DELETE", "/traffic?key=page", "", status, want)
			s.expect(t, user, "GET", "/traffic/keys", "", status, want)
		}
		if got := s.total(t, "page"); got != "1" {
			t.Errorf("%q hits of a key that was not deleted", got)
		}
	})
}

// Every call is counted once by route and class, and pieces that are added and sold by food.
func TestTrafficOfTheSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		flush := s.withTraffic(t)
		cart := s.cartOf(2)
		for _, call := range []struct {
			user               uint32
			method, path, body string
			status             int
		}{
			{0, "POST", "/login", `{"username":"user2","password":"pass2"}`, 200},
			{0, "POST", "/login", `{"username":"user2","password":"x"}`, 403},
			{0, "POST", "/login", ``, 400},
			{2, "GET", "/foods", "", 200},
			{2, "HEAD", "/foods", "", 200},
			{0, "GET", "/foods", "", 401},
			{2, "POST", "/carts", "", 200},
			{2, "PATCH", "/carts/" + cart, `{"food_id":1,"count":2}`, 204},
			{2, "PATCH", "/carts/" + cart, `{"food_id":1,"count":0}`, 204},
			{2, "PATCH", "/carts/" + cart, `{"food_id":1,"count":-1}`, 204},
			{2, "PATCH", "/carts/" + cart, `{"food_id":5,"count":1}`, 204},
			{2, "PATCH", "/carts/" + cart, `{"food_id":5,"count":3}`, 403},
			{2, "PATCH", "/carts/" + cart, `{"food_id":9,"count":1}`, 404},
			{2, "POST", "/orders", `{"cart_id":"` + cart + `"}`, 200},
			{2, "POST", "/orders", `{"cart_id":"` + cart + `"}`, 403},
			{2, "GET", "/orders", "", 200},
			{0, "GET", "/nowhere", "", 404},
			{2, "DELETE", "/orders", "", 405},
			{2, "GET", "/orders/x", "", 404},
		} {
			if status, body, _ := s.call(t, call.user, call.method, call.path, call.body); status != call.status {
				t.Errorf("%+v: %d %s", call, status, body)
			}
		}
		s.do(func() { s.Publish(snapshotOf([]int64{9, 10, 10, 10, 9})) })
		flush()
		for key, want := range map[string]string{
			"call:POST /login:2xx": "1", "call:POST /login:4xx": "2", "call:GET /foods:2xx": "2",
			"call:GET /foods:4xx": "1", "call:POST /carts:2xx": "1", "call:POST /carts:4xx": "",
			"call:PATCH /carts/:id:2xx": "4", "call:PATCH /carts/:id:4xx": "2", "call:POST /orders:2xx": "1",
			"call:POST /orders:4xx": "1", "call:GET /orders:2xx": "1", "call:other:4xx": "3", "call:other:2xx": "",
			"food:1:added": "2", "food:5:added": "1", "food:2:added": "", "food:1:sold": "1", "food:5:sold": "1",
			"food:2:sold": "",
		} {
			if got := s.total(t, key); got != want {
				t.Errorf("%s: %q hits, want %q", key, got, want)
			}
		}
	})
}

// Without Redis hits are taken, and queries get 503.
func TestTrafficWithoutRedis(t *testing.T) {
	onEngines(t, func(t *testing.T, open opener) {
		server := redistest.New(t)
		s := open(t, "unix", server.Socket)
		s.withTraffic(t)
		server.Kill(t)
		s.expect(t, 1, "POST", "/traffic/hit", `{"key":"x"}`, 204, "")
		for _, path := range []string{"/traffic?key=x&last=1h", "/traffic/top"} {
			h := s.expect(t, 1, "GET", path, "", 503, unavailable)
			if h.Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q", h.Get("Retry-After"))
			}
		}
	})
}

// Counting does not allocate on the hot flow.
func TestTrafficDoesNotAllocate(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withTraffic(t)
	for _, count := range []int{1, -1} {
		_, n := s.allocsOf("PATCH", "/carts/"+s.cartOf(2), fmt.Sprintf(`{"food_id":1,"count":%d}`, count),
			"Access-Token", s.token(2))
		if n != 0 {
			t.Errorf("count %d: %v allocations", count, n)
		}
	}
}
