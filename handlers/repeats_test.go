package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/rooms/repeats"
	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const (
	vkSecret       = "secret of the group"
	wrongSecret    = `{"code":"INVALID_SECRET","message":"密钥错误"}`
	vkConfirmation = "a1b2c3d4"
)

// vkGroups are those of the bot.
var vkGroups = []VKGroup{{ID: 8, Confirmation: "eight", Secret: "secret of group 8"},
	{Confirmation: vkConfirmation, Secret: vkSecret}}

// withRepeats switches the room on, with a bot.
func (s *shop) withRepeats(t *testing.T) *repeats.Counter { return s.withRepeatsOf(t, 1<<20) }

// withRepeatsOf is withRepeats with counts that may take so many bytes.
func (s *shop) withRepeatsOf(t *testing.T, bytes int64) *repeats.Counter {
	t.Helper()
	counter, err := repeats.New(repeats.Config{Redis: s.redis.Config, Secret: secret, Window: time.Hour,
		BytesMax: bytes, RepliesMax: 3})
	testkit.Must(t, err)
	testkit.Background(t, counter.Run)
	testkit.Until(t, "connection of the room", counter.Conn().Up)
	s.join(Repeats(counter, vkGroups))
	return counter
}

func TestRepeats(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withRepeats(t)
		service := []string{"Authorization", "Bearer " + serviceToken}
		s.expect(t, 2, "POST", "/repeats", `{"text":"hello"}`, 200, `{"count":0}`)
		s.expect(t, 3, "POST", "/repeats", `{"text":"hello"}`, 200, `{"count":1}`) // from everyone
		s.expect(t, 0, "POST", "/repeats", `{"text":"hello"}`, 200, `{"count":2}`, service...)
		s.expect(t, 2, "POST", "/repeats", `{"text":"\u0068ello"}`, 200, `{"count":3}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":"é"}`, 200, `{"count":0}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":"e\u0301"}`, 200, `{"count":1}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":""}`, 200, `{"count":0}`)

		s.expect(t, 0, "POST", "/repeats", `{"text":"hello"}`, 401, invalidToken)
		s.expect(t, 0, "POST", "/repeats", `{"text":"hello"}`, 401, invalidToken, "Authorization", "Bearer x")
		for body, want := range strictBodies(`{"text":"hello"}`, "text") {
			s.expect(t, 2, "POST", "/repeats", body, 400, want)
		}
		for _, text := range []string{`1`, `null`, `["x"]`, "\"\xff\"", "\"\\n\xff\"", `"\ud800"`,
			`"\udc00\ud800"`, `"\ud83d \ude00"`, `"\ud83d\ud83d\ude00"`, `"\ud83dude00"`} {
			s.expect(t, 2, "POST", "/repeats", `{"text":`+text+`}`, 400, malformed)
		}
		for i, text := range []string{`"\ud83d\ude00"`, `"😀"`, `"\uD83D\uDE00"`} {
			s.expect(t, 2, "POST", "/repeats", `{"text":`+text+`}`, 200, fmt.Sprintf(`{"count":%d}`, i))
		}
		s.expect(t, 2, "POST", "/repeats", `{"text":"\ufffd"}`, 200, `{"count":0}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":"\\ud800"}`, 200, `{"count":0}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":"hallo","text":"\ufffd"}`, 200, `{"count":1}`)
		s.expect(t, 2, "GET", "/repeats", "", 405, `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":"hello"}`, 200, `{"count":4}`) // refusals did not
	})
}

func TestRepeatsWithoutRedis(t *testing.T) {
	onEngines(t, func(t *testing.T, open opener) {
		server := redistest.New(t)
		s := open(t, "unix", server.Socket)
		s.withRepeats(t)
		server.Kill(t)
		h := s.expect(t, 2, "POST", "/repeats", `{"text":"x"}`, 503, unavailable)
		if h.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", h.Get("Retry-After"))
		}
		s.expect(t, 0, "POST", "/vk/callback", vkMessageNew("a", `{"peer_id":1,"text":"x"}`), 503, unavailable)
	})
}

// vkMessageNew is the event of a message.
func vkMessageNew(id, object string) string {
	return fmt.Sprintf(`{"type":"message_new","group_id":7,"event_id":%q,"secret":%q,"object":%s}`, id,
		vkSecret, object)
}

// vk sends an event and compares status and body, to the byte.
func (s *shop) vk(t *testing.T, body string, status int, want string) http.Header {
	t.Helper()
	gotStatus, got, h := s.call(t, 0, "POST", "/vk/callback", body)
	if gotStatus != status || got != want {
		t.Errorf("%s:\n got %d %q\nwant %d %q", body, gotStatus, got, status, want)
	}
	if wanted := map[bool]string{true: "text/plain", false: "application/json"}[status == 200]; h.Get(
		"Content-Type") != wanted {
		t.Errorf("%s: Content-Type %q", body, h.Get("Content-Type"))
	}
	return h
}

func TestVKCallback(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		counter := s.withRepeats(t)
		s.vk(t, `{"type":"confirmation","group_id":7,"secret":"`+vkSecret+`"}`, 200, vkConfirmation)
		s.vk(t, `{"type":"group_join","group_id":7,"secret":"`+vkSecret+`","object":{"user_id":1}}`, 200, "ok")
		for _, secret := range []string{`"x"`, `""`, `null`, `"` + strings.ToUpper(vkSecret) + `"`} {
			for _, kind := range []string{"confirmation", "message_new", "group_join"} {
				s.vk(t, `{"type":"`+kind+`","secret":`+secret+`,"object":{"peer_id":1,"text":"x"}}`, 403,
					wrongSecret)
			}
		}
		s.vk(t, `{"type":"message_new","object":{"peer_id":1,"text":"x"}}`, 403, wrongSecret)
		s.vk(t, "", 400, empty)
		for _, body := range []string{"{", "[]", "x", `{"type":1}`, `{"secret":7}`} {
			s.vk(t, body, 400, malformed)
		}
		for _, object := range []string{`null`, `{}`, `[]`, `"x"`, `{"text":"x"}`, `{"peer_id":"1","text":"x"}`,
			`{"message":{"text":"x"}}`, `{"message":7}`} {
			s.vk(t, vkMessageNew("bad", object), 200, "ok") // to send it again would not help
		}
		s.vk(t, `{"secret":"`+vkSecret+`"}`, 200, "ok")
		s.vk(t, vkMessageNew("invited", `{"peer_id":1,"action":{"type":"chat_invite_user"}}`), 200, "ok")
		s.vk(t, vkMessageNew("own", `{"message":{"peer_id":1,"text":"x","out":1}}`), 200, "ok")
		s.vk(t, vkMessageNew("sticker", `{"peer_id":1,"text":""}`), 200, "ok")
		s.vk(t, vkMessageNew("picture", `{"message":{"peer_id":1,"attachments":[{"type":"photo"}]}}`), 200, "ok")
		queued := make(map[string]string) // only they have a reply, though none is counted
		if err := counter.Conn().Do(pipeline.Command(&queued, "HGETALL", "repeats:{r}:replies:0")); err != nil ||
			len(queued) != 2 {
			t.Errorf("replies %v, %v", queued, err)
		}
		s.expect(t, 2, "POST", "/repeats", `{"text":"x"}`, 200, `{"count":0}`)
	})
}

// Messages of both shapes count, an event once, and a full queue is no "ok".
func TestVKMessages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withRepeats(t)
		s.vk(t, vkMessageNew("a", `{"id":1,"date":5,"peer_id":11,"from_id":11,"text":"hi"}`), 200, "ok")
		s.vk(t, vkMessageNew("a", `{"id":1,"date":5,"peer_id":11,"from_id":11,"text":"hi"}`), 200, "ok")
		s.vk(t, vkMessageNew("b", `{"message":{"peer_id":2000000001,"text":"hi"},"client_info":{}}`), 200, "ok")
		// before event_id and peer_id: the same message is the same event
		s.vk(t, vkMessageNew("", `{"id":2,"date":5,"user_id":12,"body":"hi"}`), 200, "ok")
		s.vk(t, vkMessageNew("", `{"id":2,"date":5,"user_id":12,"body":"hi"}`), 200, "ok")
		h := s.vk(t, vkMessageNew("", `{"id":3,"date":5,"user_id":12,"body":"hi"}`), 503, unavailable)
		if h.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", h.Get("Retry-After"))
		}
		s.expect(t, 2, "POST", "/repeats", `{"text":"hi"}`, 200, `{"count":3}`)
	})
}

// Without event_id, messages that differ in anything are different ones, also in a chat, where id is 0.
func TestVKMessagesWithoutEvent(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	counter := s.withRepeats(t)
	for _, object := range []string{
		`{"id":0,"date":5,"peer_id":2000000001,"from_id":1,"conversation_message_id":3,"text":"one"}`,
		`{"id":0,"date":5,"peer_id":2000000001,"from_id":2,"conversation_message_id":3,"text":"one"}`,
		`{"id":0,"date":5,"peer_id":2000000001,"from_id":1,"conversation_message_id":4,"text":"one"}`,
	} {
		s.vk(t, vkMessageNew("", object), 200, "ok")
		s.vk(t, vkMessageNew("", object), 200, "ok") // VK sends it again
	}
	s.expect(t, 2, "POST", "/repeats", `{"text":"one"}`, 200, `{"count":3}`)
	emptied := pipeline.Command(nil, "DEL", "repeats:{r}:due:0", "repeats:{r}:replies:0") // the queue is full
	testkit.Must(t, counter.Conn().Do(emptied))
	s.vk(t, vkMessageNew("", `{"date":5,"user_id":1,"body":"two"}`), 200, "ok")
	s.vk(t, vkMessageNew("", `{"date":5,"user_id":1,"body":"three"}`), 200, "ok")
	s.expect(t, 2, "POST", "/repeats", `{"text":"two"}`, 200, `{"count":1}`)
	s.expect(t, 2, "POST", "/repeats", `{"text":"three"}`, 200, `{"count":1}`)
}

// What is refused for a wrong secret or a full queue, and what cannot be read, leaves a line each.
func TestVKIsLogged(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withRepeats(t)
	log := testkit.CaptureLog(t)
	for i := range 5 {
		s.call(t, 0, "POST", "/vk/callback", `{"type":"x","secret":"typed"}`)
		s.call(t, 0, "POST", "/vk/callback", vkMessageNew(fmt.Sprint(i), `{"peer_id":1,"text":"x"}`))
		s.call(t, 0, "POST", "/vk/callback", vkMessageNew("blank", `{"text":"hidden"}`))
	}
	if text := log.String(); strings.Count(text, "events of VK are refused") != 1 ||
		strings.Count(text, "-vk-queue") != 1 || strings.Count(text, "cannot be read") != 1 ||
		!strings.Contains(text, "blank") || strings.Contains(text, "hidden") || strings.Contains(text, "typed") {
		t.Errorf("log %q", text)
	}
}

// An event is read as encoding/json reads it, and its message without a fault.
func FuzzVKEvent(f *testing.F) {
	f.Add([]byte(vkMessageNew("a", `{"message":{"peer_id":1,"text":"x"}}`)))
	f.Add([]byte(vkMessageNew("a", `{"message":{"message":{},"out":1,"action":null}}`)))
	f.Add([]byte(`{"secret":"a","secret":null,"group_id":7,"x":[{"secret":"b"},"}"],"object":{}}`))
	f.Add([]byte(`{"":"","`))
	f.Fuzz(func(t *testing.T, body []byte) {
		event, ok := readVKEvent(body)
		m, readable := event.message()
		if ok && readable && (m.peer == 0 || m.event == "") {
			t.Errorf("%q: %+v", body, m)
		}
		var want map[string]any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if !json.Valid(body) || decoder.Decode(&want) != nil || want == nil || bytes.Contains(body, []byte{'\\'}) {
			return // no object, or names that VK would not write so
		}
		kind, _ := want["type"].(string)
		secret, _ := want["secret"].(string)
		number, _ := want["group_id"].(json.Number)
		group, _ := strconv.ParseInt(string(number), 10, 64)
		if ok && (event.kind != kind || event.secret != secret || event.group != group) {
			t.Errorf("%q: %+v, want type %q, secret %q, group %d", body, event, kind, secret, group)
		}
	})
}

// Only an event that names its group and carries the secret of that group counts.
func TestVKGroups(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		counter := s.withRepeats(t)
		event := func(kind string, group int, secret string) string {
			return fmt.Sprintf(`{"type":%q,"group_id":%d,"event_id":"e%d","secret":%q,`+
				`"object":{"message":{"peer_id":1,"text":"hi"}}}`, kind, group, group, secret)
		}
		s.vk(t, event("confirmation", 8, "secret of group 8"), 200, "eight")
		s.vk(t, event("confirmation", 7, vkSecret), 200, vkConfirmation)
		s.vk(t, event("message_new", 8, vkSecret), 403, wrongSecret)
		s.vk(t, event("message_new", 7, "secret of group 8"), 403, wrongSecret)
		s.vk(t, event("message_new", 8, "secret of group 8"), 200, "ok")
		s.rooms = nil
		s.join(Repeats(counter, vkGroups[:1]))
		s.vk(t, event("message_new", 7, vkSecret), 403, wrongSecret) // nobody's
		s.vk(t, event("message_new", 7, "secret of group 8"), 403, wrongSecret)
		s.expect(t, 2, "POST", "/repeats", `{"text":"hi"}`, 200, `{"count":1}`)
	})
}

// What is not recorded is answered, and leaves a line and a figure.
func TestRepeatsFull(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	s.withRepeatsOf(t, 0)
	log := testkit.CaptureLog(t)
	s.expect(t, 2, "POST", "/repeats", `{"text":"hi"}`, 200, `{"count":0}`)
	s.expect(t, 2, "POST", "/repeats", `{"text":"hi"}`, 200, `{"count":0}`)
	s.vk(t, vkMessageNew("a", `{"peer_id":1,"text":"x"}`), 200, "ok")
	if n := s.figures.RepeatsNotRecorded.Value(); n != 3 || s.figures.RepeatsCounted.Value() != 0 ||
		strings.Count(log.String(), "-repeats-memory") != 1 {
		t.Errorf("%d texts were not recorded; log %q", n, log)
	}
}

// Who does not know the secret makes little work: what is read before it is short, and the rest is only
// walked through.
func TestForgedEventsAreCheap(t *testing.T) {
	const size = vkBodyBytesMax - 100
	bytes, members := strings.Repeat("\xff", size), strings.Repeat(`,"":1`, vkMembersMax)
	for body, want := range map[string]bool{
		`{"type":"message_new","secret":"` + bytes + `"}`:                        false,
		`{"type":"` + bytes + `","secret":"x"}`:                                  false,
		`{"secret":"x"` + members + `}`:                                          false,
		`{"secret":"x","object":` + strings.Repeat(`[{"":`, size/5) + `1}]}`:     true,
		`{"secret":"x","object":{"text":"` + bytes[30:] + `"}}`:                  true,
		`{"type":"` + strings.Repeat("x", vkFieldMax-2) + `","secret":"x"` + `}`: true,
	} {
		event, ok := readVKEvent([]byte(body))
		if ok != want || ok && event.secret != "x" {
			t.Errorf("%.60s...: read %v, secret %q", body, ok, event.secret)
		}
	}
}
