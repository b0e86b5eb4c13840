package turnover

import (
	"maps"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/saletest"
)

// Each case of slice_end.lua: the sale in the marker, whether the orders are deleted, the code, and which of
// the other keys are there afterwards.
func TestSliceEndScript(t *testing.T) {
	const before, next = "aaaaaaaa", "bbbbbbbb"
	for _, tc := range []struct {
		name, held, delete string
		calls, code        int
		there              map[string]bool
	}{
		{"keeps", before, "false", 1, sliceEnded, map[string]bool{"kept": true, "stream": true}},
		{"deletes", before, "true", 1, sliceEnded, map[string]bool{"stream": true}},
		{"again", before, "false", 2, sliceEnded, map[string]bool{"kept": true, "stream": true}},
		{"another sale", next, "false", 1, sliceOther,
			map[string]bool{"stock": true, "gate": true, "stream": true}},
		{"no sale", "", "false", 1, sliceOther, map[string]bool{"stock": true, "gate": true, "stream": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
				if tc.held != "" {
					saletest.Command(t, cfg, nil, "HSET", "marker", "id", tc.held)
				}
				saletest.Command(t, cfg, nil, "HSET", "stock", "1", "5")
				saletest.Command(t, cfg, nil, "SET", "gate", "")
				saletest.Command(t, cfg, nil, "XADD", "stream", "*", "user", "2", "items", "1:1,")
				l, err := pipeline.Dial(t.Context(), cfg.Config)
				testkit.Must(t, err)
				defer l.Close()
				var code int
				for range tc.calls {
					x := sliceEndScript.Eval(&code, []string{"marker", "stock", "kept", "gate", "stream"},
						before, next, tc.delete)
					testkit.Must(t, l.Do(x, cfg.Timeout))
				}
				there := map[string]bool{}
				for _, key := range []string{"stock", "kept", "gate", "stream"} {
					if saletest.Text(t, cfg, "EXISTS", key) == "1" {
						there[key] = true
					}
				}
				noted := saletest.Text(t, cfg, "HEXISTS", "marker", "next_id") == "1"
				leaves := saletest.Text(t, cfg, "TTL", "stream") != "-1"
				ended := tc.code == sliceEnded
				if code != tc.code || !maps.Equal(there, tc.there) || noted != ended || leaves != ended {
					t.Errorf("%d, %v, next noted %v, stream leaves %v; want %d, %v", code, there, noted, leaves,
						tc.code, tc.there)
				}
			})
		})
	}
}
