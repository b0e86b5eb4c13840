package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// FuzzHandover reads any text as a handover. Accepted ones are within the limits and the same when they
// are sealed again.
func FuzzHandover(f *testing.F) {
	for _, text := range []string{
		`{"Values":"e30=","Files":1}`, `{"Values":null,"Files":0}`, `{"Values":"e30","Files":0}`, `{"Files":-1}`,
		`{"Files":65}`, `{"Files":1e9}`,
		`{"Values":"","Values":"e30="}{}`, "", "{", `{"values":"e30=","files":64}`,
		`{"Value":{"a":1},"Files":["catalog"],"Listens":true}`, `{"Value": [1, "<\u2028"] ,"Files":null}`,
		`{"Files":["a","a"]}`,
		`{"Files":[""]}`, `{"value":1e999}`, `{"Value":"\ud800"}`} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "handover")
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		testkit.Must(t, os.WriteFile(path, text, 0o600))
		file, err := os.Open(path)
		testkit.Must(t, err)
		defer file.Close()
		read, err := unseal(file)
		if err != nil {
			return
		}
		sealed, err := reseal(read)
		if err != nil {
			t.Fatalf("%q: accepted, %v", text, err)
		}
		defer sealed.Close()
		again, err := unseal(sealed)
		if err != nil || !slices.Equal(again.Files, read.Files) || again.Listens != read.Listens ||
			!reflect.DeepEqual(decoded(t, again.Value), decoded(t, read.Value)) {
			t.Errorf("%q: %+v comes back as %+v, %v", text, read, again, err)
		}
	})
}

// reseal seals an envelope that was read.
func reseal(e envelope) (*os.File, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	text, err := encode(e)
	if err != nil {
		return nil, err
	}
	return packed{text: text}.seal()
}

// decoded is the value without regard to spaces in its text; no text is null.
func decoded(t *testing.T, text json.RawMessage) (value any) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &value); err != nil && !strings.Contains(err.Error(),
		"cannot unmarshal number") {
		t.Errorf("%q: %v", text, err)
	}
	return value
}
