package load

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"flashsale/internal/testkit"
)

func TestTextField(t *testing.T) {
	tests := []struct{ body, name, want string }{
		{`{"id":"order-7"}`, "id", "order-7"},
		{`{ "id" : "order-7" }`, "id", "order-7"},
		{`{"user_id":3,"username":"user3","access_token":"t"}`, "access_token", "t"},
		{`{"cart_id":"x","id":"y"}`, "id", "y"},
		{`{"id":"a\"b"}`, "id", `a"b`},
		{`{"message":"\"id\":\"no\"","id":"yes"}`, "id", "yes"},
		{`{"id":7}`, "id", ""},
		{`{"code":null}`, "code", ""},
		{`[]`, "id", ""},
		{`id`, "id", ""},
		{`"id":"`, "id", ""},
		{``, "id", ""},
	}
	for _, test := range tests {
		if got := textField([]byte(test.body), test.name); got != test.want {
			t.Errorf("textField(%s, %s) = %q, want %q", test.body, test.name, got, test.want)
		}
	}
}

func FuzzAppendText(f *testing.F) {
	for _, seed := range []string{"", "user7", `a"b\c`, "限时抢购", "\x00\n", "<&>"} {
		f.Add(seed)
	}
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		var back string
		if err := json.Unmarshal(appendText(nil, text), &back); err != nil || back != text {
			t.Fatalf("%q came back as %q, %v", text, back, err)
		}
	})
}
