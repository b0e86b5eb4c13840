package launch

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Condition is the way in which a proxy treats all traffic.
type Condition int

// The conditions of a proxy.
const (
	Passes    Condition = iota
	BlackHole           // it accepts and swallows everything, in both directions
	Slow                // each reply comes SlowDelay later, or what Delay has set
)

const (
	// SlowDelay is the delay of a reply while the proxy is Slow, by default.
	SlowDelay = 50 * time.Millisecond

	proxyChunk = 32 << 10 // bytes read at once
)

// Cut is where a connection breaks: in the next chunk of one direction, after a share of its bytes.
type Cut struct {
	Replies bool    // of the target to its client, else of requests
	Share   float64 // 0 to 1 of the chunk passes
}

// Proxy is the network between clients and a target such as Redis, with its faults: TCP on 127.0.0.1.
type Proxy struct {
	listener        net.Listener
	network, target string

	delay atomic.Int64 // of a reply while the proxy is Slow, nanoseconds

	mu        sync.Mutex
	condition Condition
	among     Among // the clients for which the condition holds; nil = all
	next      *Cut  // for the first chunk in its direction; nil = no cut
	pairs     map[*connPair]struct{}
	handlers  sync.WaitGroup
}

// Among returns for some clients whether a condition holds for them.
type Among func(clients []*net.TCPAddr) []bool

// ClientsAt are the clients with this IP address.
func ClientsAt(ip string) Among {
	return func(clients []*net.TCPAddr) (among []bool) {
		for _, client := range clients {
			among = append(among, client.IP.String() == ip)
		}
		return among
	}
}

// ClientsBut are all clients but these processes, which connect from 127.0.0.1. It is slow: 0.1 s.
func ClientsBut(pids func() []int) Among {
	return func(clients []*net.TCPAddr) (among []bool) {
		owned := portsOf(pids())
		for _, client := range clients {
			among = append(among, !owned[client.Port])
		}
		return among
	}
}

// portsOf finds the ports on 127.0.0.1 of some processes, which may have ended.
func portsOf(pids []int) map[int]bool {
	sockets := map[string]bool{}
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // only a wrong pattern fails
		for _, file := range files {
			target, _ := os.Readlink(file)
			sockets[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	const established = "01"
	ports := map[int]bool{}
	table, _ := os.ReadFile("/proc/net/tcp") // without it no port is found
	for line := range strings.Lines(string(table)) {
		var port int
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != established || !sockets[fields[9]] {
			continue
		}
		if _, err := fmt.Sscanf(fields[1], "0100007F:%X", &port); err == nil {
			ports[port] = true
		}
	}
	return ports
}

// connPair is one connection through the proxy.
type connPair struct {
	client, target net.Conn // target is nil in a black hole
	swallowed      bool     // it has lost bytes and must never pass bytes again
	spared         bool     // it passes whatever the condition is
}

// StartProxy starts a proxy to an address: "tcp" and host:port, or "unix" and the path of a socket.
func StartProxy(network, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start proxy: %w", err)
	}
	p := &Proxy{listener: l, network: network, target: target, pairs: map[*connPair]struct{}{}}
	p.Delay(SlowDelay)
	p.handlers.Go(p.accept)
	return p, nil
}

// Address is where the proxy listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Stop closes everything and returns when nothing runs any more.
func (p *Proxy) Stop() {
	p.listener.Close()
	p.mu.Lock()
	for pair := range p.pairs {
		pair.close()
	}
	p.mu.Unlock()
	p.handlers.Wait()
}

// Set changes the condition. At the end of a black hole it resets the connections that have lost bytes.
func (p *Proxy) Set(c Condition) { p.SetAmong(c, nil) }

// SetAmong is Set for some clients. The others pass.
func (p *Proxy) SetAmong(c Condition, among Among) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.condition, p.among = c, among
	p.spare(slices.Collect(maps.Keys(p.pairs))...)
	for pair := range p.pairs {
		if c != BlackHole && pair.swallowed {
			pair.reset()
		}
	}
}

// spare notes which connections the condition does not concern.
func (p *Proxy) spare(pairs ...*connPair) {
	var clients []*net.TCPAddr
	for _, pair := range pairs {
		clients = append(clients, pair.client.RemoteAddr().(*net.TCPAddr))
	}
	concerned := slices.Repeat([]bool{true}, len(pairs))
	if p.among != nil && len(pairs) > 0 {
		concerned = p.among(clients)
	}
	for i, pair := range pairs {
		pair.spared = !concerned[i]
	}
}

// Delay sets the delay of a reply while the proxy is Slow.
func (p *Proxy) Delay(delay time.Duration) { p.delay.Store(int64(delay)) }

// BreakNext resets the connection that carries the next chunk in the cut's direction, in the middle of it.
func (p *Proxy) BreakNext(c Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = &c
}

// Broken reports whether the last BreakNext has happened.
func (p *Proxy) Broken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next == nil
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // stopped
		}
		pair := &connPair{client: c}
		p.mu.Lock()
		p.spare(pair)
		pair.swallowed = p.condition == BlackHole && !pair.spared
		p.mu.Unlock()
		if !pair.swallowed {
			if pair.target, err = net.Dial(p.network, p.target); err != nil {
				c.Close() // as if the target refused
				continue
			}
		}
		p.mu.Lock()
		p.pairs[pair] = struct{}{}
		p.mu.Unlock()
		p.handlers.Go(func() { p.carry(pair) })
	}
}

// carry pumps both directions until one of them ends.
func (p *Proxy) carry(pair *connPair) {
	if pair.target == nil {
		p.pump(pair, pair.client, nil, false)
	} else {
		p.handlers.Go(func() { p.pump(pair, pair.target, pair.client, true) })
		p.pump(pair, pair.client, pair.target, false)
	}
	p.mu.Lock()
	delete(p.pairs, pair)
	p.mu.Unlock()
}

func (p *Proxy) pump(pair *connPair, from, to net.Conn, replies bool) {
	defer pair.close()
	chunk := make([]byte, proxyChunk)
	for {
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		now, broken := p.decide(pair, replies)
		switch {
		case broken != nil:
			_, _ = to.Write(chunk[:int(float64(n)*broken.Share)]) // the connection breaks anyway
			pair.reset()
			return
		case now == BlackHole:
			continue
		case now == Slow && replies:
			time.Sleep(time.Duration(p.delay.Load()))
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// decide returns what happens to a chunk: the condition, and the cut that breaks it.
func (p *Proxy) decide(pair *connPair, replies bool) (Condition, *Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pair.spared {
		return Passes, nil
	}
	if pair.swallowed || p.condition == BlackHole {
		pair.swallowed = true
		return BlackHole, nil
	}
	if p.next != nil && p.next.Replies == replies {
		broken := p.next
		p.next = nil
		return p.condition, broken
	}
	return p.condition, nil
}

func (c *connPair) close() {
	c.client.Close()
	if c.target != nil {
		c.target.Close()
	}
}

// reset makes the client see a reset instead of an end.
func (c *connPair) reset() {
	_ = c.client.(*net.TCPConn).SetLinger(0) // fails only on a closed connection
	c.close()
}
