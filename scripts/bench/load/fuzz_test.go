package load

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"flashsale/internal/testkit"
)

// FuzzTextField compares the search in a reply's text with encoding/json: in a flat object with each name
// once they find the same.
func FuzzTextField(f *testing.F) {
	for _, body := range []string{
		`{"id":"order-7"}`, `{"user_id":3,"username":"id","id":"x"}`, `{ "id" : "a" }`,
		`{"x":"\"id\":\"no\"","id":"yes"}`,
		`{"id":"a\u0062"}`, `{"xid":"a","id":"b"}`, `{"id":null}`, `{"id":7,"a":"id"}`, `[]`,
		`{"a":{"id":"in"}}`, `{"cart_id":"x","id":"y"}`, `{"id":"a\"b"}`, `{"id":7}`, `id`, `"id":"`, ``} {
		f.Add([]byte(body))
	}
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got := textField(body, "id")
		if !isFlatObject(body) {
			return // such a reply is wrong, but may be read
		}
		var object map[string]any
		if err := json.Unmarshal(body, &object); err != nil {
			return
		}
		if want, _ := object["id"].(string); got != want {
			t.Errorf("%q: %q, encoding/json finds %q", body, got, want)
		}
	})
}

// isFlatObject reports whether the text begins with an object of UTF-8 that holds no other one, no list and
// no name twice.
func isFlatObject(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') || !utf8.Valid(text) {
		return false
	}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil || seen[name.(string)] {
			return false
		}
		seen[name.(string)] = true
		value, err := decoder.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return false
		}
	}
	return true
}

func FuzzAppendText(f *testing.F) {
	for _, seed := range []string{"", "user7", `a"b\c`, "限时抢购", "\x00\n", "<&>"} {
		f.Add(seed)
	}
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, text string) {
		var back string
		err := json.Unmarshal(appendText(nil, text), &back)
		if utf8.ValidString(text) && (err != nil || back != text) {
			t.Fatalf("%q came back as %q, %v", text, back, err)
		}
	})
}
