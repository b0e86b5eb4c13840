package live

import (
	"bytes"
	"fmt"
)

// pace is the data of a pace event, as the Keeper makes it. The Hub adds what it knows of Redis.
type pace struct {
	Second      int64             `json:"t"`
	Orders      int64             `json:"orders"`
	Refused     map[string]uint64 `json:"refused"`
	P50         *float64          `json:"p50_ms"`
	P99         *float64          `json:"p99_ms"`
	Second99    float64           `json:"p99_1s_ms"` // as in the curve
	Connections int64             `json:"connections"`
	Servers     int64             `json:"servers"`
	ServersOf   *int64            `json:"servers_of"`
	Still       bool              `json:"still,omitempty"`
	Marks       []Mark            `json:"marks,omitempty"`
}

// withRedis returns the data of a pace event with what Redis has answered, nil for nothing yet.
func withRedis(pace []byte, state *State) []byte {
	redis, lag := "null", "null"
	if state != nil {
		redis = `"away"`
		if state.Up {
			redis = `"up"`
		}
		if state.Ledger {
			lag = fmt.Sprint(state.LedgerLag)
		}
	}
	return fmt.Appendf(bytes.TrimSuffix(pace, []byte("}")), `,"redis":%s,"ledger_lag":%s}`, redis, lag)
}
