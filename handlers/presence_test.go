package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/internal/openapi"
	"flashsale/internal/rooms/presence"
	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// withPresence switches the room on. User 2 may see some users, others see nobody.
func (s *shop) withPresence(t *testing.T) *presence.Presence {
	t.Helper()
	contacts := func(user uint32) (ids []uint32, err error) {
		if user == 2 {
			ids = []uint32{3, 1<<31 + 7, 4}
		}
		return ids, nil
	}
	room := presence.New(presence.Config{Redis: s.redis.Spread(), Contacts: contacts})
	testkit.Background(t, room.Run)
	testkit.Until(t, "connection of the room", func() bool { return room.SetVisible(20, true) == nil })
	s.join(Presence(room))
	return room
}

func TestPresence(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withPresence(t)
		redis := func(receiver any, words ...string) {
			redistest.Command(t, s.redis.Network, s.redis.Address, receiver, words...)
		}
		keyOf := func(user string) string {
			return "presence:" + pipeline.PartTag(pipeline.PartOf(user)) + ":" + user
		}
		redis(nil, "SET", keyOf("4"), "1764000000999") // 2025-11-24
		s.expect(t, 3, "POST", "/presence", "ignored", 200, `{"visible":true,"contacts":[]}`)
		s.expect(t, 2147483655, "POST", "/presence", "", 200, `{"visible":true,"contacts":[]}`)
		s.expect(t, 2147483655, "PUT", "/presence", `{"visible":false}`, 204, "")
		s.expect(t, 2147483655, "POST", "/presence", "", 200, `{"visible":false,"contacts":[]}`)
		seen := func(user string) string {
			var ms int64
			redis(&ms, "GET", keyOf(user))
			return time.UnixMilli(max(ms, -ms)).UTC().Format("2006-01-02T15:04:05Z")
		}
		s.expect(t, 2, "POST", "/presence", "", 200, fmt.Sprintf(`{"visible":true,"contacts":[`+
			`{"user_id":3,"online":true,"last_seen":"%s"},`+
			`{"user_id":2147483655,"online":false,"last_seen":"%s"},`+
			`{"user_id":4,"online":false,"last_seen":"2025-11-24T16:00:00Z"}]}`, seen("3"), seen("2147483655")))
		redis(nil, "FLUSHALL")

		s.expect(t, 0, "POST", "/presence", "", 401, invalidToken)
		s.expect(t, 0, "PUT", "/presence", `{"visible":true}`, 401, invalidToken)
		for body, want := range strictBodies(`{"visible":true}`, "visible") {
			s.expect(t, 3, "PUT", "/presence", body, 400, want)
		}
		for _, value := range []string{"1", "0", "null", `"true"`, `[true]`} {
			s.expect(t, 3, "PUT", "/presence", `{"visible":`+value+`}`, 400, malformed)
		}
		s.expect(t, 3, "PUT", "/presence", ` { "visible":true, "visible" : false } `, 204, "")
		s.expect(t, 3, "POST", "/presence", "", 200, `{"visible":false,"contacts":[]}`)
		s.expect(t, 3, "PUT", "/presence", `{"visible":true}`, 204, "")
		s.expect(t, 3, "POST", "/presence", "", 200, `{"visible":true,"contacts":[]}`)
		s.expect(t, 3, "GET", "/presence", "", 405, `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`)
	})
}

// A contact who was never seen has no time.
func TestPresenceOfNobody(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withPresence(t)
	_, got, _ := s.call(t, 2, "POST", "/presence", "")
	if want := `{"user_id":2147483655,"online":false,"last_seen":null}`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// A contact whose Redis does not answer is neither online nor offline.
func TestPresenceUnknown(t *testing.T) {
	got := AppendPresence(nil, true, []presence.Status{{User: 7, Unknown: true}, {User: 8, Online: true,
		Seen: time.UnixMilli(1764000000999)}})
	const want = `{"visible":true,"contacts":[{"user_id":7,"online":null,"last_seen":null},` +
		`{"user_id":8,"online":true,"last_seen":"2025-11-24T16:00:00Z"}]}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	d := readDescription(t)
	testkit.Must(t, d.Check(openapi.Reply{Method: "POST", Target: "/presence", Status: 200, Body: got,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"x"}}}))
}

func TestPresenceWithoutRedis(t *testing.T) {
	server := redistest.New(t)
	s := open(t, "unix", server.Socket)
	s.withPresence(t)
	server.Kill(t)
	for method, body := range map[string]string{"POST": "", "PUT": `{"visible":true}`} {
		if h := s.expect(t, 2, method, "/presence", body, 503, unavailable); h.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After %q", method, h.Get("Retry-After"))
		}
	}
}
