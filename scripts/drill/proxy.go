package main

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// condition is what the proxy makes of what passes.
type condition int

const (
	passes    condition = iota
	blackHole           // accepts and swallows everything, in both directions
	slow                // each reply comes slowDelay later
)

const (
	slowDelay  = 50 * time.Millisecond
	proxyChunk = 32 << 10 // bytes read at once
)

// cut is where a connection breaks: in the next chunk of one direction, after a share of its bytes.
type cut struct {
	replies bool    // of Redis to the server, else of requests
	share   float64 // 0 to 1 of the chunk passes
}

// proxy is the network between the servers and Redis, with its faults: TCP on 127.0.0.1 to a unix socket.
type proxy struct {
	listener net.Listener
	target   string // path of the socket

	mu        sync.Mutex
	condition condition
	next      *cut // for the first chunk in its direction; nil = none
	pairs     map[*connPair]struct{}
	handlers  sync.WaitGroup
}

// connPair is one connection through the proxy. server stands for the flashsale server, redis for Redis.
type connPair struct {
	server, redis net.Conn // redis is nil in a black hole
	swallowed     bool     // it has missed bytes and must never pass any again
}

func startProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start proxy: %w", err)
	}
	p := &proxy{listener: l, target: target, pairs: map[*connPair]struct{}{}}
	p.handlers.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// stop closes everything and returns when nothing runs any more.
func (p *proxy) stop() {
	p.listener.Close()
	p.mu.Lock()
	for pair := range p.pairs {
		pair.close()
	}
	p.mu.Unlock()
	p.handlers.Wait()
}

// set changes the condition. What was swallowed stays lost: those connections are reset when the hole ends.
func (p *proxy) set(c condition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.condition = c
	for pair := range p.pairs {
		if c != blackHole && pair.swallowed {
			pair.reset()
		}
	}
}

// breakNext resets the connection that carries the next chunk in the cut's direction, in the middle of it.
func (p *proxy) breakNext(c cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = &c
}

// broken says whether the last breakNext has happened.
func (p *proxy) broken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next == nil
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // stopped
		}
		pair := &connPair{server: c}
		p.mu.Lock()
		pair.swallowed = p.condition == blackHole
		p.mu.Unlock()
		if !pair.swallowed {
			if pair.redis, err = net.Dial("unix", p.target); err != nil {
				c.Close() // Redis is down: so is the way to it
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
func (p *proxy) carry(pair *connPair) {
	if pair.redis == nil {
		p.pump(pair, pair.server, nil, false)
	} else {
		p.handlers.Go(func() { p.pump(pair, pair.redis, pair.server, true) })
		p.pump(pair, pair.server, pair.redis, false)
	}
	p.mu.Lock()
	delete(p.pairs, pair)
	p.mu.Unlock()
}

func (p *proxy) pump(pair *connPair, from, to net.Conn, replies bool) {
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
			_, _ = to.Write(chunk[:int(float64(n)*broken.share)]) // it is about to break anyway
			pair.reset()
			return
		case now == blackHole:
			continue
		case now == slow && replies:
			time.Sleep(slowDelay)
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// decide says what becomes of a chunk.
func (p *proxy) decide(pair *connPair, replies bool) (condition, *cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pair.swallowed || p.condition == blackHole {
		pair.swallowed = true
		return blackHole, nil
	}
	if p.next != nil && p.next.replies == replies {
		broken := p.next
		p.next = nil
		return p.condition, broken
	}
	return p.condition, nil
}

func (c *connPair) close() {
	c.server.Close()
	if c.redis != nil {
		c.redis.Close()
	}
}

// reset makes the server see a reset instead of an end.
func (c *connPair) reset() {
	_ = c.server.(*net.TCPConn).SetLinger(0) // on a connection that is closed already there is nothing to reset
	c.close()
}
