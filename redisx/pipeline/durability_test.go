package pipeline

import (
	"strings"
	"testing"
	"time"

	"flashsale/redisx/redistest"
)

func TestReadDurability(t *testing.T) {
	for _, tc := range []struct {
		settings []string
		full     bool
		loss     string
	}{
		{[]string{"--appendonly", "yes", "--appendfsync", "always"}, true,
			"appendfsync always: a crash loses no order that was answered " +
				"(set aof-load-truncated no as well: with yes, a restart after a crash can keep half an order)"},
		{[]string{"--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "no"}, true,
			"appendfsync always: a crash loses no order that was answered"},
		{[]string{"--appendonly", "yes", "--appendfsync", "everysec"}, false, "appendfsync everysec: "},
		{[]string{"--appendonly", "yes", "--appendfsync", "no"}, false, "appendfsync no: "},
		{[]string{"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "yes"}, false,
			"no-appendfsync-on-rewrite yes: "},
		{[]string{"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "allkeys-lru"}, false,
			"maxmemory-policy allkeys-lru: "},
		{[]string{"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "volatile-lru"}, true,
			"appendfsync always: "},
		{[]string{"--save", "60 1"}, false, "no append-only file: "},
		{[]string{"--save", ""}, false, "it keeps nothing on disk: "},
		{[]string{"--rename-command", "CONFIG", ""}, false, "it does not tell its settings ("},
	} {
		t.Run(strings.Join(tc.settings, " "), func(t *testing.T) {
			server := redistest.New(t, tc.settings...)
			got, err := ReadDurability(t.Context(), unix(server))
			if err != nil || got.Full != tc.full || !strings.HasPrefix(got.Loss, tc.loss) {
				t.Errorf("%+v, %v; want %v, %q", got, err, tc.full, tc.loss)
			}
		})
	}
	none := Config{Network: "unix", Address: t.TempDir() + "/none", Timeout: time.Second}
	if _, err := ReadDurability(t.Context(), none); err == nil {
		t.Error("a Redis that is not there tells its settings")
	}
}
