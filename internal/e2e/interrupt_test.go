package e2e

import (
	"net"
	"os"
	"testing"

	"flashsale/internal/testkit"
)

// A command that waits for a Redis which does not answer is ended by Ctrl-C.
func TestInterruptEndsACommand(t *testing.T) {
	for _, command := range [][]string{{"sale", "status"}, {"audit", "-ledger", "root@tcp(127.0.0.1:1)/none"},
		{"unlock", "root"}} {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		testkit.Must(t, err)
		defer silent.Close()
		args := append(command, "-redis", silent.Addr().String(), "-redis-timeout", "1m")
		p := program(t, module, nil, args...)
		conn, err := silent.Accept()
		testkit.Must(t, err)
		defer conn.Close()
		testkit.Must(t, p.Signal(os.Interrupt))
		testkit.Until(t, "end of the command", func() bool { return !p.Running() })
	}
}
