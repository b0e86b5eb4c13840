package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

func made(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	testkit.Must(t, run(append(args, "-plain"), &out))
	return out.String()
}

// A list has exactly the rows, malformed rows and series that were asked for, each document once, and
// numbers in runs. The same flags make the same list.
func TestListHasItsSize(t *testing.T) {
	args := []string{"-rows", "50000", "-malformed", "70", "-series", "30"}
	text := made(t, args...)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0]+"\n" != header || len(lines) != 50_001 {
		t.Fatalf("%q, then %d lines", lines[0], len(lines)-1)
	}
	document := regexp.MustCompile(`^[0-9]{4},[0-9]{6}$`)
	series, malformed := map[string]bool{}, 0
	var good []string
	for _, line := range lines[1:] {
		if !document.MatchString(line) {
			malformed++
			continue
		}
		good = append(good, line)
		series[line[:4]] = true
	}
	if malformed != 70 || len(series) != 30 {
		t.Errorf("%d malformed rows, %d series", malformed, len(series))
	}
	slices.Sort(good)
	if distinct := len(slices.Compact(slices.Clone(good))); distinct != len(good) {
		t.Errorf("%d of %d documents are distinct", distinct, len(good))
	}
	runs := 1
	for i := 1; i < len(good); i++ {
		if !follows(good[i-1], good[i]) {
			runs++
		}
	}
	if mean := len(good) / runs; mean < runMean-3 || mean > runMean+3 {
		t.Errorf("%d numbers follow each other on average, want about %d", mean, runMean)
	}
	if made(t, args...) != text || made(t, append(args, "-seed", "2")...) == text {
		t.Error("the list does not depend on the seed alone")
	}
}

// follows reports whether b is the document after a.
func follows(a, b string) bool {
	digits := []byte(a)
	for i := len(digits) - 1; i > 4; i-- {
		if digits[i]++; digits[i] <= '9' {
			break
		}
		digits[i] = '0'
	}
	return string(digits) == b
}

func TestFlagsThatDoNotFit(t *testing.T) {
	for _, args := range [][]string{{"-rows", "10", "-malformed", "11"}, {"-rows", "600000", "-series", "1"}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v are taken", args)
		}
	}
}
