package pipeline

import (
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// The master is killed, and the connection finds the replica that the sentinel has made the master. One of
// the sentinels is away.
func TestSentinel(t *testing.T) {
	redistest.OnPrograms(t, func(t *testing.T, program string) {
		onEngines(t, func(t *testing.T, loop Loop) {
			s := redistest.StartSentinel(t, program)
			cfg := Config{Address: "127.0.0.1:1," + s.Address, Sentinel: redistest.SentinelName, Timeout: patient}
			c := connect(t, cfg, Options{Loop: loop})
			port := func() (port []string) {
				if do(c, Command(&port, "CONFIG", "GET", "port")) != nil {
					return nil
				}
				return port
			}
			if got := port(); len(got) != 2 || got[1] != s.Ports[0] {
				t.Fatalf("connected to %v, want the master at %s", got, s.Ports[0])
			}
			s.Nodes[0].Kill()
			testkit.Until(t, "the new master", func() bool {
				got := port()
				return len(got) == 2 && got[1] == s.Ports[1]
			})
			testkit.Must(t, do(c, Command(new(string), "SET", "k", "v")))
		})
	})
}
