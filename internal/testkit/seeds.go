package testkit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Seeds returns the seeds of a fuzz target from one file, testdata/<target>.seeds: a line for each seed,
// with its values as Go strings in double quotes, a space between them. Fuzzing writes a new seed to a file
// in testdata/fuzz: move it into a line here.
func Seeds(tb testing.TB, target string) (seeds [][]string) {
	tb.Helper()
	name := filepath.Join("testdata", target+".seeds")
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var seed []string
		for rest := line; rest != ""; rest = strings.TrimPrefix(rest, " ") {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				tb.Fatalf("%s:%d: want strings in double quotes", name, i+1)
			}
			value, _ := strconv.Unquote(quoted) // its quotes are right
			seed, rest = append(seed, value), rest[len(quoted):]
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// AddSeeds adds the seeds of a target that has arguments of one type only.
func AddSeeds[T string | []byte](f *testing.F) {
	f.Helper()
	for _, seed := range Seeds(f, f.Name()) {
		args := make([]any, len(seed))
		for i, value := range seed {
			args[i] = T(value)
		}
		f.Add(args...)
	}
}
