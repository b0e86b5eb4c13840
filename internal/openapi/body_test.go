package openapi

import (
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

func TestCheckBody(t *testing.T) {
	d, err := Parse([]byte(small))
	testkit.Must(t, err)
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/foods/new", `{"id":7}`, ""},
		{"POST", "/foods/new", `{"id":0}`, "minimum"},
		{"POST", "/foods/new", `{}`, "id"},
		{"POST", "/foods/new", ``, "empty"},
		{"GET", "/foods/7", `{"id":7}`, "a body is not described"},
		{"GET", "/gone", `{"id":7}`, "a body is not described"},
	} {
		err := d.CheckBody(test.method, test.path, test.body)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
