package handlers

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// oracle returns how encoding/json reads a body: the verdict that every reader must share.
func oracle(body []byte, name string) (kind byte, text string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return 'e', ""
	}
	raw, found := object[name]
	if !found {
		return 0, ""
	}
	var s *string
	if json.Unmarshal(raw, &s) == nil && s != nil {
		return '"', *s
	}
	var n *json.Number
	if json.Unmarshal(raw, &n) == nil && n != nil {
		return '0', n.String()
	}
	return 'x', ""
}

// FuzzReadBody reads a body for each call as its handler does, all members at once, and holds it against
// encoding/json.
func FuzzReadBody(f *testing.F) {
	for _, body := range []string{
		`{"username":"user2","password":"pass2"}`, `{"password":"b","username":"a","password":"c"}`,
		`{"username":"a","password":1}`, `{"count":1,"food_id":1,"count":"2"}`,
		`{"cart_id":"\u0061","cart_id":"b"}`, `{"cart_id":"a","x":{}}`,
		`{"cart_id":"abc"}`, `{"food_id":1,"count":-3}`, `{"username":"a","password":"b","username":"c"}`,
		`{"count":null}`,
		`{"cart_id":"\u00e4\ud800"}`, `{"count":01}`, `{"count":-0}`, `{"count":1e3}`, `{"cart_id":"a"}x`,
		` { "count" : 12 } `,
		`{"x":{"count":1},"count":[1]}`, "{\"cart_id\":\"\xff\"}", `{"count":9223372036854775808}`,
		`{"count":-}`, `{"count":1,}`, `{`, ``,
		`{"c\u006funt":1,"cart_\u0069d":"b"}`, ` null `, `{"x":{"a":"}]"},"count":[],"count":2}`,
		`{ }`, `[{"count":1}]`,
		`{"cart_id":"篮子"}`, `{"":""}`, "{\"count\":1\x00}", "\ufeff{}",
	} {
		f.Add([]byte(body))
	}
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, call := range [][]member{
			{{name: "username"}, {name: "password"}}, {{name: "food_id"}, {name: "count"}}, {{name: "cart_id"}},
		} {
			var want *failure
			if kind, _ := oracle(body, ""); len(body) == 0 {
				want = errEmptyRequest
			} else if kind == 'e' {
				want = errMalformedJSON
			}
			if got := readContestBody(body, call); got != want {
				t.Fatalf("%q: refused with %+v, want %+v", body, got, want)
			}
			switch got, others := readBody(body, call), hasOthers(body, call); {
			case !others && got != want:
				t.Fatalf("%q: the strict reader refuses it with %+v, want %+v", body, got, want)
			case others && (string(codeOf(got.body)) != "UNKNOWN_FIELD" || !json.Valid(got.body)):
				t.Fatalf("%q: refused with %s", body, got.body)
			}
			for i := range call {
				if want == nil {
					call[i].check(t, body)
				}
			}
		}
	})
}

// hasOthers reports whether encoding/json finds members in a body that a call does not have.
func hasOthers(body []byte, call []member) bool {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(body, &object) // what cannot be read has none
	for _, m := range call {
		delete(object, m.name)
	}
	return len(object) > 0
}

// check compares a member that was read with what encoding/json finds.
func (m *member) check(t *testing.T, body []byte) {
	t.Helper()
	wantKind, wantText := oracle(body, m.name)
	if m.kind != wantKind || string(m.text) != wantText {
		t.Errorf("%q: %s is %q %q; encoding/json finds %q %q", body, m.name, m.kind, m.text, wantKind, wantText)
	}
	want, err := strconv.ParseInt(wantText, 10, 64)
	if n, ok := m.integer(); ok != (wantKind == '0' && err == nil) || ok && n != want {
		t.Errorf("%q: integer %d, %v; strconv finds %d, %v", body, n, ok, want, err)
	}
	var echo string
	if m.kind == '"' && (json.Unmarshal(m.raw, &echo) != nil || echo != wantText) {
		t.Errorf("%q: raw %q is not the JSON of %q", body, m.raw, wantText)
	}
}

// Depth costs nothing on the stack, and no memory to speak of.
func TestDeepBody(t *testing.T) {
	deep := `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `,"count":1}`
	members := []member{{name: "count"}}
	if f := readContestBody([]byte(deep), members); f != nil {
		t.Errorf("refused with %s", f.body)
	}
	if n, ok := members[0].integer(); !ok || n != 1 {
		t.Errorf("count %d, %v", n, ok)
	}
}

func TestPlainBodiesDoNotAllocate(t *testing.T) {
	for _, body := range []string{`{"username":"用户2","password":"pass2"}`, `{"food_id":12,"count":-1}`,
		` {"cart_id" : "x"} `} {
		if n := testkit.Allocations(func() {
			members := [2]member{{name: "food_id"}, {name: "cart_id"}}
			readContestBody([]byte(body), members[:])
		}); n > 1 { // one for the copy of the body in this test
			t.Errorf("%s: %v allocations", body, n)
		}
	}
}

func BenchmarkReadBody(b *testing.B) {
	body := []byte(`{"food_id":12,"count":1}`)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			members := [2]member{{name: "food_id"}, {name: "count"}}
			scanPlain(body, members[:])
		}
	})
	many := []byte("{" + strings.Repeat(`"":[],`, 660) + `"count":1}`)
	b.Run("many members", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			members := [2]member{{name: "food_id"}, {name: "count"}}
			readContestBody(many, members[:])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			members := [2]member{{name: "food_id"}, {name: "count"}}
			decode(body, members[:])
		}
	})
}
