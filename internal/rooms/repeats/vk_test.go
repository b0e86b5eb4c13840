package repeats

import (
	"context"
	"fmt"
	"testing"
)

func TestAnswersOfVK(t *testing.T) {
	vk := newFakeVK(t)
	client := newVKClient(vk.settings())
	for answer, want := range map[string]string{
		taken:                  "<nil>",
		`{"response":{"x":1}}`: "<nil>",
		"500":                  "VK answers with status 500 Internal Server Error",
		"302":                  "VK answers with status 302 Found",
		"307":                  "VK answers with status 307 Temporary Redirect",
		"<html>": "cannot read the answer of VK: " +
			"invalid character '<' looking for beginning of value",
		`{}`: "the answer of VK has neither response nor error",
		`{"error":{"error_code":10,"error_msg":"Internal"}}`: `VK answers with error 10: "Internal"`,
	} {
		vk.answers = []string{answer}
		if err := client.send(context.Background(), "group token", 1, 1, "x"); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
	if messages, _ := vk.seen(); len(messages) != 8 {
		t.Errorf("%d calls: the token follows a redirect", len(messages))
	}
	for code, want := range map[int]bool{1: false, 5: false, 6: false, 9: false, 10: false, 14: false,
		7: true, 100: true, 901: true, 918: true, 936: true, 983: true} {
		if got := (&refusal{Code: code}).final(); got != want {
			t.Errorf("error %d: final %v, want %v", code, got, want)
		}
	}
}
