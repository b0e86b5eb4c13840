package config

import (
	"fmt"
	"net"
	"runtime"
	"strconv"
	"time"
)

const workersMax = 256

type listeningFlags struct {
	Host    string // to listen on
	Port    int    // 0: any free one
	Workers int    // processes that serve
	Drain   time.Duration
	Pprof   string // host:port of worker 0's profiles; "" is off
}

func (c *listeningFlags) add(f *Flags) {
	f.Group("Listening")
	f.Text(&c.Host, "app-host", "127.0.0.1",
		"`address` to listen on; 0.0.0.0 is every IPv4 address of the machine, :: every one, of IPv4 and IPv6")
	f.Number(&c.Port, "app-port", 8080, 0, 65535, "`port` to listen on, shared by all workers; 0 is any free "+
		"one")
	f.Number(&c.Workers, "workers", min(runtime.NumCPU(), workersMax), 1, workersMax,
		"`processes` that serve (default: one per CPU)")
	f.Time(&c.Drain, "drain", 10*time.Second, time.Millisecond, time.Hour,
		"longest `time` a stop waits for requests under way")
	f.Text(&c.Pprof, "pprof", "", "serve profiles of worker i at `host:port`+i; for this machine only")
	f.Check(func() error { return c.checkPprof(f) })
}

// checkPprof refuses an address that leaves too few ports for the workers.
func (c *listeningFlags) checkPprof(f *Flags) error {
	if c.Pprof == "" {
		return nil
	}
	_, text, err := net.SplitHostPort(c.Pprof)
	port, wrong := strconv.Atoi(text)
	if most := 65536 - c.Workers; err != nil || wrong != nil || port < 1 || port > most {
		return fmt.Errorf("%s is %q; it must be host:port, as 127.0.0.1:6060, with a port from 1 to %d",
			f.source("pprof"), c.Pprof, most)
	}
	return nil
}

// ProfilesExposed reports whether people on other machines can reach the profiles, which show the contents
// of memory.
func (c *listeningFlags) ProfilesExposed() bool {
	if c.Pprof == "" {
		return false
	}
	listens, err := net.ResolveTCPAddr("tcp", c.Pprof)
	return err != nil || !listens.IP.IsLoopback()
}

// Address is the host:port to listen on.
func (c *listeningFlags) Address() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }
