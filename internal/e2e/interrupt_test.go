package e2e

import (
	"net"
	"os"
	"testing"

	"flashsale/internal/testkit/polltest"
	"flashsale/internal/testkit/stand"
)

// A command that waits for a Redis which does not answer is ended by Ctrl-C.
func TestInterruptEndsACommand(t *testing.T) {
	for _, command := range [][]string{{"sale", "status"}, {"audit", "-ledger", "root@tcp(127.0.0.1:1)/none"},
		{"unlock", "root"}} {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		stand.Must(t, err)
		defer silent.Close()
		args := append(command, "-redis", silent.Addr().String(), "-redis-timeout", "1m")
		p := launch(t, module, nil, args...)
		conn, err := silent.Accept()
		stand.Must(t, err)
		defer conn.Close()
		stand.Must(t, p.Signal(os.Interrupt))
		polltest.Until(t, "end of the command", func() bool { return !p.Running() })
	}
}
