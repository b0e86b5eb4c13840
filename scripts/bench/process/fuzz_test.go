package process

import (
	"bytes"
	"testing"
)

// FuzzStat reads any text as a line of the process table.
func FuzzStat(f *testing.F) {
	for _, text := range []string{
		"45 (redis-server) S 12 7 7 0 -1 4194624 160606 0 0 0 4915 1353 30 4 20 0",
		"45 (odd (name) 9) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "() S", ")(",
		"1 (a) S 99999999999999999999 2 3 4 5 6 7 8 9 10 11 12 13 14",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseStat(text)
		if err == nil && !bytes.Contains(text, []byte("("+p.Name+")")) {
			t.Errorf("%q is process %+v", text, p)
		}
	})
}
