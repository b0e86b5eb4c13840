package config

import (
	"fmt"
	"io"
	"testing"
)

func TestAccessLog(t *testing.T) {
	clearEnvironment(t)
	for part, want := range map[string]int{"": 0, "off": 0, "1": 1, "all": 1, "1/1": 1, "1/100": 100,
		"1/1000000000": 1e9} {
		if got := parse(t, "-access-log", part).AccessLog; got != want {
			t.Errorf("-access-log %s: one in %d, want %d", part, got, want)
		}
	}
	for _, part := range []string{"0", "2", "1/0", "1/-5", "1/+5", "1/", "/5", "2/5", "1/1000000001",
		"1/99999999999999999999", "100%", "0.01", "ALL", "1/1e3", " 1", "1/ 2"} {
		want := fmt.Sprintf("-access-log is %q; it must be off, all, 1, or 1/n with n from 1 to 1000000000", part)
		if _, err := Parse([]string{"-access-log", part}, io.Discard); err == nil || err.Error() != want {
			t.Errorf("\n got %v\nwant %s", err, want)
		}
	}
	t.Setenv("ACCESS_LOG", "1/7")
	t.Setenv("REQUEST_IDS", "true")
	if c := parse(t); c.AccessLog != 7 || !c.RequestIDs {
		t.Errorf("from the environment: one in %d, every request an ID: %v", c.AccessLog, c.RequestIDs)
	}
}
