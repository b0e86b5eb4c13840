//go:build !validate

package main

import (
	"strings"
	"testing"
)

func TestValidateIsNotCompiledIn(t *testing.T) {
	address := newShop(builtIn(t, 10, 1000), honest).open(t)
	_, stderr, code := bench(t, []string{address}, 10, 1000, "-validate=1")
	if code != exitUsage || !strings.Contains(stderr, "go run -tags validate ./scripts/bench") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}
