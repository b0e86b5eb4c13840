package stand

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

const (
	portTries = 100
	portLeast = 10_000 // of LastingPorts; below are those of known services
)

// FreePort finds a port of 127.0.0.1 that is not used at this moment.
func FreePort() (int, error) { return FreePorts(1) }

// FreePorts finds count ports of 127.0.0.1 in a row that are not used at this moment, and returns the first.
func FreePorts(count int) (int, error) {
	for range portTries {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("cannot find a free port: %w", err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		free := areFree(port+1, count-1)
		_ = first.Close() // nothing was sent on it
		if free {
			return port, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d free ports in a row in %d tries", count, portTries)
}

// LastingPorts is FreePorts for ports that are to be free minutes later, too: they are not among those that
// the kernel gives to outgoing connections.
func LastingPorts(count int) (int, error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, fmt.Errorf("cannot find lasting ports: %w", err)
	}
	var outgoing int // the first one
	if _, err := fmt.Sscan(string(text), &outgoing); err != nil {
		return 0, fmt.Errorf("cannot read the range of outgoing ports: %w", err)
	}
	if outgoing-count <= portLeast {
		return FreePorts(count) // this machine leaves too few
	}
	for range portTries {
		if first := portLeast + rand.IntN(outgoing-count-portLeast); areFree(first, count) {
			return first, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d lasting ports in a row in %d tries", count, portTries)
}

func areFree(first, count int) bool {
	for i := range count {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i)))
		if err != nil {
			return false
		}
		_ = l.Close() // nothing was sent on it
	}
	return true
}
