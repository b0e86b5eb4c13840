package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"flashsale/internal/testkit"
)

// FuzzOrders compares the reader of /admin/orders with encoding/json: it gives all orders of a good list,
// and none of what is not a list is taken for a whole one.
func FuzzOrders(f *testing.F) {
	for _, body := range []string{
		`[]`, `[{"id":"a-1","user_id":1,"items":[{"food_id":2,"count":1}],"total":10}]`, `[{}`, `[{},]`,
		`{}`, `[null]`,
		`[1]`, ``, `[{"user_id":-1}]`, `[{"id":"a"}{"id":"b"}]`, `[{"id":"a"}:{"id":"b"}]`,
	} {
		f.Add([]byte(body))
	}
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got := []Order{}
		err := decodeOrders(bytes.NewReader(body), func(o Order) { got = append(got, o) })
		want := []Order{}
		wantErr := json.NewDecoder(bytes.NewReader(body)).Decode(&want)
		isList := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
		if good := wantErr == nil && isList; good != (err == nil) || good && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; encoding/json finds %+v, %v", body, got, err, want, wantErr)
		}
	})
}
