package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/threads"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// threadsAt is the time of all that is stored.
const threadsAt = `"2026-03-01T10:00:00.000Z"`

// withThreads switches the conversations on. User 7 has blocked everybody, and text that is "again" is sent
// too often.
func (s *shop) withThreads(t *testing.T) {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC) }
	cfg := threads.Config{Redis: s.redis.Spread(), Fanout: 500, MessagesMax: 100, AgeMax: time.Hour,
		Pace: 2 * time.Second, Sale: s.cfg.Sale.ID(), Now: now,
		Exist: func(users []uint32) (bool, error) {
			for _, user := range users {
				if user > 1000 {
					return false, nil
				}
			}
			return true, nil
		},
		Blocked: func(by uint32, others []uint32) (bool, error) {
			return by == 7 || slices.Contains(others, 7), nil
		}}
	c := Conversation{Threads: threads.New(cfg), Pace: cfg.Pace,
		Find: func(texts ...string) (users []uint32, err error) {
			for _, text := range texts {
				id, err := strconv.ParseUint(strings.TrimPrefix(text, "user"), 10, 32)
				if err != nil || id == 0 {
					return nil, &accounts.NoUserError{Text: text}
				}
				users = append(users, uint32(id))
			}
			return users, nil
		},
		Repeated: func(_ uint32, text string) (bool, error) { return text == "again", nil }}
	keeper := threads.NewKeeper(cfg)
	testkit.Background(t, c.Threads.Run)
	testkit.Background(t, keeper.Run)
	testkit.Until(t, "connection of the room", func() bool {
		_, err := c.Threads.Newest()
		return err == nil
	})
	s.join(Threads(c))
}

// expectFailure expects the body of a failure.
func (s *shop) expectFailure(t *testing.T, user uint32, method, path, body string, f *failure) {
	t.Helper()
	s.expect(t, user, method, path, body, f.status, string(f.body))
}

// threadOf is what a user of the thread of 2 and 3 sees.
func threadOf(owner, muted, nickname, unread, read, last string) string {
	return `{"thread_id":"u2-3","kind":"pair","owner_id":` + owner + `,"role":"member","participants":[2,3],` +
		`"members":2,"is_muted":` + muted + `,"nickname":"` + nickname + `","unread":` + unread +
		`,"read":` + read + `,"last":` + last + `,"history":false,"created_at":` + threadsAt + `,"updated_at":` +
		threadsAt + `}`
}

func messageIn(thread, id, user, content string) string {
	return `{"id":` + id + `,"thread_id":"` + thread + `","user_id":` + user + `,"content":"` + content +
		`","created_at":` + threadsAt + `}`
}

func TestThreadOfTwo(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withThreads(t)
		s.expectFailure(t, 0, "GET", "/threads", "", errInvalidToken)
		s.expect(t, 2, "GET", "/threads", "", 200, `{"threads":[],"next":0,"changed":0}`)
		for body, want := range strictBodies(`{"participants":[3]}`, "participants", "group", "history", "key") {
			s.expect(t, 2, "POST", "/threads", body, 400, want)
		}
		for _, body := range []string{`{"participants":3}`, `{"participants":null}`, `{"participants":[null]}`,
			`{"participants":[-1]}`, `{"participants":[1.5]}`, `{"participants":[3e0]}`, `{"participants":[03]}`,
			`{"participants":[4294967296]}`, `{"participants":[[3]]}`, `{"participants":"3"}`,
			`{"participants":[3],"group":1}`, `{"participants":[3],"history":null}`, `{"participants":[3],"key":7}`} {
			s.expect(t, 2, "POST", "/threads", body, 400, malformed)
		}
		for _, body := range []string{`{"participants":[]}`, `{"participants":[2]}`,
			`{"participants":[3` + strings.Repeat(",3", 200) + `]}`,
			`{"participants":[3],"history":true}`,
			`{"participants":[3],"group":true,"key":"` + strings.Repeat("k", 65) + `"}`} {
			s.expectFailure(t, 2, "POST", "/threads", body, errBadThread)
		}
		s.expectFailure(t, 2, "POST", "/threads", `{"participants":[1001]}`, errUserNotFound)
		for list, text := range map[string]string{`[0]`: "0", `[3,"Bob \n\u0000","carol"]`: "Bob \n\x00",
			`["` + strings.Repeat("é", 100) + `"]`: strings.Repeat("é", 64), `["\ud800"]`: "\ufffd"} {
			quoted, _ := json.Marshal("用户不存在：" + text)
			s.expect(t, 2, "POST", "/threads", `{"participants":`+list+`}`, 404,
				`{"code":"USER_NOT_FOUND","message":`+string(quoted)+`}`)
		}
		s.expectFailure(t, 2, "POST", "/threads", `{"participants":[7]}`, errBlocked)
		s.expectFailure(t, 7, "POST", "/threads", `{"participants":[2]}`, errBlocked)
		s.expectFailure(t, 2, "POST", "/threads/u2-7/messages", `{"content":"hello"}`, errBlocked)
		s.expectFailure(t, 7, "POST", "/threads/u2-7/messages", `{"content":"hello"}`, errBlocked)
		s.expectFailure(t, 2, "GET", "/threads/u2-3", "", errNoThread)
		s.expect(t, 2, "POST", "/threads", `{"participants":[2,3]}`, 200,
			threadOf("2", "false", "", "0", "0", "0"))
		s.expect(t, 3, "POST", "/threads", `{"participants":["user2"]}`, 200, // found, not made twice
			threadOf("3", "false", "", "0", "0", "0"))
		s.expect(t, 2, "GET", "/threads/u2-3/members", "", 200,
			`{"members":[{"user_id":2,"role":"member"},{"user_id":3,"role":"member"}],"next":""}`)
		s.expectFailure(t, 4, "GET", "/threads/u2-3/members", "", errNotMember)
		s.expectFailure(t, 2, "GET", "/threads/u2-3/members?cursor=x", "", errBadPage)
		s.expectFailure(t, 2, "PUT", "/threads/u2-3/members/4", "", errThreadKind)
		s.expectFailure(t, 2, "DELETE", "/threads/u2-3/members/me", "", errThreadKind)

		const messages = "/threads/u2-3/messages"
		hello := messageIn("u2-3", "1", "2", "hello")
		for range 2 { // stored once
			s.expect(t, 2, "POST", messages, `{"content":"hello","id":"a"}`, 200, hello)
		}
		s.expect(t, 3, "POST", messages, `{"content":"😀"}`, 200, messageIn("u2-3", "2", "3", "😀"))
		s.expectFailure(t, 4, "POST", messages, `{"content":"x"}`, errNotMember)
		s.expectFailure(t, 4, "GET", messages, "", errNotMember)
		s.expectFailure(t, 2, "POST", "/threads/u2-4/messages", `{"content":"x"}`, errNoThread)
		s.expectFailure(t, 2, "POST", messages, `{"content":""}`, errBadMessage)
		s.expectFailure(t, 2, "POST", messages, `{"content":"again"}`, errRepeated)
		s.expectFailure(t, 2, "POST", messages, `{"content":"`+strings.Repeat("x", 4097)+`"}`, errMessageTooLong)
		for _, body := range []string{`{"content":1}`, `{"content":"\ud800"}`, `{"content":"x","id":1}`} {
			s.expect(t, 2, "POST", messages, body, 400, malformed)
		}
		two := messageIn("u2-3", "2", "3", "😀")
		s.expect(t, 2, "GET", messages, "", 200, `{"messages":[`+hello+`,`+two+`],"last":2}`)
		s.expect(t, 2, "GET", messages+"?after=1", "", 200, `{"messages":[`+two+`],"last":2}`)
		s.expect(t, 2, "GET", messages+"?after=0&limit=1", "", 200, `{"messages":[`+hello+`],"last":2}`)
		s.expect(t, 2, "GET", messages+"?before=2", "", 200, `{"messages":[`+hello+`],"last":2}`)
		for _, query := range []string{"?before=x", "?after=-1", "?limit=0", "?limit=101"} {
			s.expectFailure(t, 2, "GET", messages+query, "", errBadPage)
			s.expectFailure(t, 2, "GET", "/threads"+query, "", errBadPage)
		}

		s.expect(t, 2, "GET", "/threads/u2-3", "", 200, threadOf("2", "false", "", "1", "1", "2"))
		s.expect(t, 2, "PATCH", "/threads/u2-3", `{"is_muted":true,"nickname":"Bob: \"b\"","read":9}`, 200,
			threadOf("2", "true", `Bob: \"b\"`, "0", "2", "2"))
		s.expect(t, 2, "PATCH", "/threads/u2-3", `{"is_muted":false,"nickname":"","read":1}`, 200,
			threadOf("2", "false", "", "0", "2", "2"))
		for _, body := range []string{`{"is_muted":1}`, `{"nickname":null}`, `{"read":"1"}`,
			`{"nickname":"\ud800"}`} {
			s.expect(t, 2, "PATCH", "/threads/u2-3", body, 400, malformed)
		}
		s.expect(t, 2, "PATCH", "/threads/u2-3", `{"muted":true}`, 400,
			unknownTo("muted", "is_muted", "nickname", "read"))
		s.expectFailure(t, 2, "PATCH", "/threads/u2-3", `{"read":-1}`, errBadThread)
		s.expectFailure(t, 2, "PATCH", "/threads/u2-3", `{"nickname":"`+strings.Repeat("é", 65)+`"}`, errBadThread)
		s.expectFailure(t, 4, "PATCH", "/threads/u2-3", `{"read":1}`, errNotMember)
		testkit.Until(t, "the list of user 3", func() bool {
			_, body, _ := s.call(t, 3, "GET", "/threads", "")
			return strings.HasPrefix(body, `{"threads":[`+threadOf("3", "false", "", "0", "2", "2")+`],"next":0`)
		})
	})
}

func TestGroup(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withThreads(t)
		_, started, _ := s.call(t, 2, "POST", "/threads", `{"participants":[3,4],"key":"k"}`)
		s.expect(t, 2, "POST", "/threads", `{"participants":[3],"group":true,"key":"k"}`, 200, started)
		id, _, _ := strings.Cut(strings.TrimPrefix(started, `{"thread_id":"`), `"`)
		want := `{"thread_id":"` + id + `","kind":"group","owner_id":2,"role":"owner",` +
			`"participants":[2,3,4],"members":3,`
		if !strings.HasPrefix(started, want) {
			t.Fatalf("started %s, want %s", started, want)
		}
		members := "/threads/" + id + "/members/"
		s.expectFailure(t, 3, "PUT", members+"5", "", errNotOwner)
		s.expectFailure(t, 6, "PUT", members+"5", "", errNotMember)
		s.expectFailure(t, 2, "PUT", members+"1001", "", errUserNotFound)
		s.expectFailure(t, 2, "PUT", members+"nobody", "", nobody("nobody"))
		s.expectFailure(t, 2, "PUT", members+"0", "", nobody("0"))
		s.expectFailure(t, 2, "PUT", members+"7", "", errBlocked)
		s.expect(t, 2, "PUT", members+"5", `{"role":"boss"}`, 400, malformed)
		s.expect(t, 2, "PUT", members+"5", `{"roles":"owner"}`, 400, unknownTo("roles", "role"))
		s.expect(t, 2, "POST", "/threads/"+id+"/messages", `{"content":"x","key":"y"}`, 400,
			unknownTo("key", "content", "id"))
		s.expect(t, 2, "POST", "/threads/"+id+"/messages", `{"content":"before"}`, 200,
			messageIn(id, "1", "2", "before"))
		s.expect(t, 2, "PUT", members+"user5", "", 204, "")
		s.expect(t, 5, "GET", "/threads/"+id+"/messages", "", 200, `{"messages":[],"last":1}`)
		s.expectFailure(t, 2, "PUT", members+"2", `{"role":"member"}`, errLastOwner)
		s.expect(t, 2, "PUT", members+"5", `{"role":"owner"}`, 204, "")
		s.expectFailure(t, 3, "DELETE", members+"4", "", errNotOwner)
		s.expect(t, 5, "DELETE", members+"4", "", 204, "")
		s.expectFailure(t, 4, "GET", "/threads/"+id+"/messages", "", errNotMember)
		s.expect(t, 2, "DELETE", members+"me", "", 204, "")
		s.expectFailure(t, 2, "POST", "/threads", `{"participants":[3],"group":true,"key":"k"}`, errNotMember)
		s.expect(t, 5, "DELETE", members+"3", "", 204, "")
		s.expect(t, 5, "DELETE", members+"5", "", 204, "")
		s.expectFailure(t, 5, "GET", "/threads/"+id, "", errNoThread)
	})
}

// A list makes many users members at once, and may be sent again.
func TestManyMembers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withThreads(t)
		_, started, _ := s.call(t, 2, "POST", "/threads", `{"participants":[],"group":true}`)
		id, _, _ := strings.Cut(strings.TrimPrefix(started, `{"thread_id":"`), `"`)
		path := "/threads/" + id + "/members"
		for body, want := range strictBodies(`{"users":[3]}`, "users", "role") {
			s.expect(t, 2, "PUT", path, body, 400, want)
		}
		for _, body := range []string{`{"users":3}`, `{"users":[null]}`, `{"users":null}`, `{"role":"owner"}`,
			`{"users":[3],"role":"boss"}`, `{"users":[3],"role":1}`} {
			s.expect(t, 2, "PUT", path, body, 400, malformed)
		}
		s.expectFailure(t, 2, "PUT", path, `{"users":[3`+strings.Repeat(",3", 200)+`]}`, errBadThread)
		s.expectFailure(t, 2, "PUT", path, `{"users":[3,"nobody"]}`, nobody("nobody"))
		s.expectFailure(t, 2, "PUT", path, `{"users":[1001]}`, errUserNotFound)
		s.expectFailure(t, 3, "PUT", path, `{"users":[3]}`, errNotMember)
		s.expectFailure(t, 2, "PUT", "/threads/gx/members", `{"users":[3]}`, errNoThread)
		s.expect(t, 2, "PUT", path, `{"users":[]}`, 200, `{"blocked":[]}`)
		for from := 8; from < 605; from += 199 {
			list := "7"
			for user := from; user < from+199; user++ {
				list += fmt.Sprint(",", user)
			}
			for range 2 {
				s.expect(t, 2, "PUT", path, `{"users":[`+list+`]}`, 200, `{"blocked":[7]}`)
			}
		}
		s.expect(t, 2, "PUT", path, `{"users":["user4",2],"role":"owner"}`, 200, `{"blocked":[]}`)
		s.expectFailure(t, 8, "PUT", path, `{"users":[3]}`, errNotOwner)
		_, body, _ := s.call(t, 4, "GET", "/threads/"+id, "")
		if !strings.Contains(body, `"role":"owner",`) || !strings.Contains(body, `"members":599,`) {
			t.Errorf("the group is %s", body)
		}
	})
}

// Who has invited as many users as may invites nobody else for a time, whichever call it was.
func TestRateOfInvitations(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withThreads(t)
	s = limited(t, s, "invite by user 9/h", nil)
	_, started, _ := s.call(t, 2, "POST", "/threads", `{"participants":[3,4,5,"user6"]}`)
	id, _, _ := strings.Cut(strings.TrimPrefix(started, `{"thread_id":"`), `"`)
	members := "/threads/" + id + "/members"
	s.expect(t, 2, "PUT", members, `{"users":[8,9,10]}`, 200, `{"blocked":[]}`)
	s.expect(t, 2, "PUT", members+"/11", "", 204, "")
	s.awaitCounted(t, "/limits/invite?user=2", `"remaining":1,`)
	s.expect(t, 2, "PUT", members+"/12", "", 204, "")
	s.awaitCounted(t, "/limits/invite?user=2", `"remaining":0,`)
	for _, call := range []string{"PUT " + members + "/13", "PUT " + members, "POST /threads"} {
		method, path, _ := strings.Cut(call, " ")
		s.expectFailure(t, 2, method, path, "", errTooManyRequests)
	}
	s.expect(t, 2, "DELETE", members+"/12", "", 204, "")
	s.expectFailure(t, 3, "PUT", members+"/13", "", errNotOwner)
}

// Every call of the conversation counts in the rates of chat, but for messages, registrations and logins.
func TestRateOfChat(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withThreads(t)
	s.withAccounts(t)
	s.withPresence(t)
	s = limited(t, s, "chat by user 1/h; chat by ip 60/h", nil)
	const own = "/threads/u2-3"
	user := uint32(2)
	for _, call := range []string{"POST /threads", "GET /threads", "GET " + own, "PATCH " + own,
		"GET " + own + "/members", "PUT " + own + "/members", "PUT " + own + "/members/4",
		"DELETE " + own + "/members/4", "GET " + own + "/messages", "GET /users", "PUT /users/me/password",
		"GET /contacts", "GET /contacts/3", "PUT /contacts/3", "DELETE /contacts/3",
		"POST /presence", "PUT /presence", "GET /rooms/sale", "GET /rooms/sale/messages"} {
		method, path, _ := strings.Cut(call, " ")
		if strings.HasPrefix(path, "/rooms") {
			continue
		}
		user++ // each has its own quota, and they share the address
		s.call(t, user, method, path, "")
		_, _, h := s.call(t, user, method, path, "")
		if got := h.Get("RateLimit-Policy"); got != `"chat by user";q=1;w=3600` || h.Get("Retry-After") == "" {
			t.Errorf("%s: %q, %v", call, got, h)
		}
	}
	s.expectFailure(t, 3, "POST", own+"/messages", `{"content":"x"}`, errNoThread) // it has a rate of its own
	for range 60 - 17 {
		s.call(t, 0, "GET", "/rooms/sale", "")
	}
	for _, path := range []string{"/rooms/sale", "/rooms/sale/messages"} {
		h := s.expect(t, 0, "GET", path, "", 429, tooMany)
		if got := h.Get("RateLimit-Policy"); got != `"chat by ip";q=60;w=3600` {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestSaleRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withThreads(t)
		id := threads.RoomID(s.cfg.Sale.ID())
		room := func(last, pinned string) string {
			return `{"thread_id":"` + id + `","last":` + last + `,"pinned":` + pinned +
				`,"pace_seconds":2,"created_at":` + threadsAt + `,"updated_at":` + threadsAt + `}`
		}
		const messages = "/rooms/sale/messages"
		s.expect(t, 0, "GET", "/rooms/sale", "", 200, room("0", "null"))
		s.expect(t, 0, "GET", messages, "", 200, `{"messages":[],"last":0}`)
		s.expectFailure(t, 0, "POST", messages, `{"content":"x"}`, errInvalidToken)
		hi := messageIn(id, "1", "2", "hi")
		s.expect(t, 2, "POST", messages, `{"content":"hi"}`, 200, hi)
		status, body, header := s.call(t, 2, "POST", messages, `{"content":"hi"}`)
		if status != 429 || body != string(errSlowMode.body) || header.Get("Retry-After") != "2" {
			t.Errorf("two messages at once: %d %s %v", status, body, header)
		}
		s.expect(t, 3, "POST", "/threads/"+id+"/messages", `{"content":"yo"}`, 200, messageIn(id, "2", "3", "yo"))
		s.expectFailure(t, 2, "GET", "/threads/"+id, "", errThreadKind)
		s.expectFailure(t, 2, "PATCH", "/threads/"+id, `{"read":1}`, errThreadKind)
		s.expectFailure(t, 2, "GET", "/threads/sale-other/messages", "", errNoThread)

		for _, call := range []string{"DELETE " + messages + "/1", "PUT /rooms/sale/pin", "DELETE /rooms/sale/pin",
			"PUT /rooms/sale/muted/3", "DELETE /rooms/sale/muted/3"} {
			method, path, _ := strings.Cut(call, " ")
			s.expectFailure(t, 2, method, path, `{}`, errNotAllowed)
		}
		s.expect(t, 1, "PUT", "/rooms/sale/pin", `{"id":1}`, 204, "")
		s.expect(t, 0, "GET", "/rooms/sale", "", 200, room("2", hi))
		s.expect(t, 1, "DELETE", "/rooms/sale/pin", "", 204, "")
		s.expect(t, 0, "GET", "/rooms/sale", "", 200, room("2", "null"))
		for _, n := range []string{"0", "3", "-1"} {
			s.expectFailure(t, 1, "PUT", "/rooms/sale/pin", `{"id":`+n+`}`, errNoMessage)
			s.expectFailure(t, 1, "DELETE", messages+"/"+n, "", errNoMessage)
		}
		s.expectFailure(t, 1, "DELETE", messages+"/x", "", errNoMessage)
		s.expect(t, 1, "PUT", "/rooms/sale/pin", `{"id":"1"}`, 400, malformed)
		s.expect(t, 1, "PUT", "/rooms/sale/pin", `{"message":1}`, 400, unknownTo("message", "id"))
		s.expect(t, 1, "PUT", "/rooms/sale/muted/4", `{"minutes":1}`, 400, unknownTo("minutes", "seconds"))
		s.expect(t, 1, "DELETE", messages+"/1", "", 204, "")
		s.expect(t, 0, "GET", messages+"?limit=1&after=0", "", 200,
			`{"messages":[{"id":1,"thread_id":"`+id+`","removed":true}],"last":2}`)

		s.expect(t, 1, "PUT", "/rooms/sale/muted/user4", `{"seconds":60}`, 204, "")
		s.expectFailure(t, 4, "POST", messages, `{"content":"x"}`, errMuted)
		s.expect(t, 1, "DELETE", "/rooms/sale/muted/4", "", 204, "")
		s.expect(t, 4, "POST", messages, `{"content":"x"}`, 200, messageIn(id, "3", "4", "x"))
		for _, n := range []string{"0", "2678401", "9223372036854775807"} {
			s.expectFailure(t, 1, "PUT", "/rooms/sale/muted/4", `{"seconds":`+n+`}`, errBadThread)
		}
		s.expectFailure(t, 1, "PUT", "/rooms/sale/muted/nobody", `{"seconds":60}`, nobody("nobody"))
	})
}

// The rate of messages holds in threads too.
func TestRateOfMessages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withThreads(t)
		s = limited(t, s, "message by user 1/h", nil)
		s.expect(t, 2, "POST", "/rooms/sale/messages", `{"content":"x"}`, 200,
			messageIn(threads.RoomID(s.cfg.Sale.ID()), "1", "2", "x"))
		testkit.Until(t, "the rate of messages", func() bool {
			_, body, _ := s.call(t, 2, "POST", "/rooms/sale/messages", `{"content":""}`)
			return body == string(errTooManyRequests.body)
		})
	})
}
