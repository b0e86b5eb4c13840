package launch

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

const (
	portTries = 1000
	portLeast = 10_000 // below are the ports of known services
	portMost  = 1<<16 - 1
)

// given are the ports of this process, a unix socket without a file for each. Other test processes cannot
// open it, so they choose another port, until this process has ended.
var given struct {
	sync.Mutex
	sockets []net.Listener
}

// FreePort finds a port of 127.0.0.1 that no program uses; see FreePorts.
func FreePort() (int, error) { return FreePorts(1) }

// FreePorts finds count ports of 127.0.0.1 in a row that no program uses, and returns the first. No other
// call gives them, in this process or another one. The kernel does not give them to outgoing connections:
// thousands of those ports stay taken for a minute after a load, and the next connection may take any free
// one.
func FreePorts(count int) (int, error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, fmt.Errorf("cannot find free ports: %w", err)
	}
	var outgoing int // the first one
	if _, err := fmt.Sscan(string(text), &outgoing); err != nil {
		return 0, fmt.Errorf("cannot read the range of outgoing ports: %w", err)
	}
	choice := outgoing - count - portLeast
	if choice <= 0 { // this machine leaves too few
		choice = portMost - count - portLeast
	}
	for range portTries {
		if first := portLeast + rand.IntN(choice); areFree(first, count) && take(first, count) {
			return first, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d free ports in a row in %d tries", count, portTries)
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

// take makes ports those of this process, unless one is given already.
func take(first, count int) bool {
	var sockets []net.Listener
	for i := range count {
		l, err := net.Listen("unix", fmt.Sprintf("@flashsale/port/%d", first+i))
		if err != nil {
			for _, one := range sockets {
				_ = one.Close() // nobody connects to it
			}
			return false
		}
		sockets = append(sockets, l)
	}
	given.Lock()
	defer given.Unlock()
	given.sockets = append(given.sockets, sockets...)
	return true
}
