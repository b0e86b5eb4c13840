package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzHandover reads any text as a handover: what is accepted is within the limits, and sealed again it is the same.
func FuzzHandover(f *testing.F) {
	for _, text := range []string{
		`{"Values":"e30=","Files":1}`, `{"Values":null,"Files":0}`, `{"Values":"e30","Files":0}`, `{"Files":-1}`,
		`{"Files":65}`, `{"Files":1e9}`,
		`{"Values":"","Values":"e30="}{}`, "", "{", `{"values":"e30=","files":64}`} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "handover")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		read, err := unseal(file)
		if err != nil {
			return
		}
		h := Handover{Values: read.Values, Files: make([]*os.File, read.Files)}
		if err := h.check(); err != nil {
			t.Fatalf("%q: accepted, %v", text, err)
		}
		sealed, err := h.seal()
		if err != nil {
			t.Fatal(err)
		}
		defer sealed.Close()
		if again, err := unseal(sealed); err != nil || again.Files != read.Files || !bytes.Equal(again.Values, read.Values) {
			t.Errorf("%q: %+v comes back as %+v, %v", text, read, again, err)
		}
	})
}
