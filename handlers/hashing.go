package handlers

import (
	"net/netip"
	"sync"

	"github.com/valyala/fasthttp"

	"flashsale/internal/credentials"
)

// hashingMax is how many passwords of one network wait to be hashed in a worker, a quarter of all that do.
// Right passwords count in no limit, so without this one client keeps everybody else out of the queue.
const hashingMax = 4

// hashing counts the calls under way that hash a password, by network. The zero value is ready.
type hashing struct {
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

func (h *hashing) enter(network netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.networks[network] >= hashingMax {
		return false
	}
	if h.networks == nil {
		h.networks = map[netip.Addr]int{}
	}
	h.networks[network]++
	return true
}

func (h *hashing) leave(network netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.networks[network]--; h.networks[network] == 0 {
		delete(h.networks, network)
	}
}

// run runs a call that hashes a password; credentials.ErrBusy if the caller's network has as many under way
// as it may.
func (h *hashing) run(network netip.Addr, call func() error) error {
	if !h.enter(network) {
		return credentials.ErrBusy
	}
	defer h.leave(network)
	return call()
}

// hash runs a call of the accounts that hashes a password, see hashing.run.
func (s *Server) hash(ctx *fasthttp.RequestCtx, call func() error) error {
	return s.hashing.run(networkOf(s.clientAddress(ctx)), call)
}
