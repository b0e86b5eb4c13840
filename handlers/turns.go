package handlers

import (
	"net/netip"
	"sync"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
)

// turnsMax is how many calls of one network wait in a worker for what few can have at once: a hash of a
// password, or an answer of the OpenID provider. It is a quarter of all that wait. Right passwords count in
// no limit, so without this one client keeps everybody else out of the queue.
const turnsMax = 4

// turns counts the calls under way that wait for one such thing, by network. The zero value is ready.
type turns struct {
	mu       sync.Mutex
	networks map[netip.Addr]int
}

// networkOf is an IPv4 address, or the largest network that a customer with IPv6 gets: it has 65,536 of /64,
// of which four would fill the queue. Honest neighbours in it wait for their turn only.
func networkOf(address netip.Addr) netip.Addr {
	const largest = 48 // bits
	if address = address.Unmap(); address.Is6() {
		if network, err := address.WithZone("").Prefix(largest); err == nil {
			return network.Addr()
		}
	}
	return address
}

func (t *turns) enter(network netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.networks[network] >= turnsMax {
		return false
	}
	if t.networks == nil {
		t.networks = map[netip.Addr]int{}
	}
	t.networks[network]++
	return true
}

func (t *turns) leave(network netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.networks[network]--; t.networks[network] == 0 {
		delete(t.networks, network)
	}
}

// run runs a call that waits; credentials.ErrBusy if the caller's network has as many under way as it may.
func (t *turns) run(network netip.Addr, call func() error) error {
	if !t.enter(network) {
		return credentials.ErrBusy
	}
	defer t.leave(network)
	return call()
}

// hash runs a call of the accounts that hashes a password, see turns.run.
func (s *Server) hash(ctx *fasthttp.RequestCtx, call func() error) error {
	return s.hashing.run(networkOf(s.clientAddress(ctx)), call)
}
