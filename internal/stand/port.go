package stand

import (
	"fmt"
	"net"
	"strconv"
)

// FreePort finds a port of 127.0.0.1 that is not used at this moment.
func FreePort() (int, error) { return FreePorts(1) }

// FreePorts finds count ports of 127.0.0.1 in a row that are not used at this moment, and returns the first.
func FreePorts(count int) (int, error) {
	const triesMax = 100
	for range triesMax {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("cannot find a free port: %w", err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		free := true
		for i := 1; i < count && free; i++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
			if free = err == nil; free {
				_ = l.Close() // nothing was sent on it
			}
		}
		_ = first.Close()
		if free {
			return port, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d free ports in a row in %d tries", count, triesMax)
}
