package pipeline

import (
	"strconv"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// The replica of a Redis on a unix socket is asked over TCP.
func TestInspectBehindSocket(t *testing.T) {
	port, err := launch.FreePorts(2)
	testkit.Must(t, err)
	on := func(port int, args ...string) *redistest.Server {
		return redistest.New(t, append(args, "--bind", "127.0.0.1", "--port", strconv.Itoa(port))...)
	}
	master := on(port)
	on(port+1, "--replicaof", "127.0.0.1", strconv.Itoa(port))
	testkit.Until(t, "a replica that answers", func() bool {
		nodes, err := Inspect(t.Context(), unix(master))
		testkit.Must(t, err)
		return len(nodes) == 2 && nodes[0].Err == nil && nodes[1].Err == nil && !nodes[1].IsMaster()
	})
}
