// Package profiling serves the runtime's profiles (net/http/pprof) on an address of its own. It is off by
// default: a profile shows the contents of memory, so others must not reach the address.
package profiling

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
)

// Serve serves profiles of this process until the process ends. address is host:port; worker 0 takes that
// port, worker 1 the next one and so on, because each worker is a process of its own. With "" it does
// nothing.
func Serve(address string, worker int) error {
	if address == "" {
		return nil
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("cannot serve profiles on %s: %w", address, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("cannot serve profiles on %s: %w", address, err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port+worker)))
	if err != nil {
		return fmt.Errorf("cannot serve profiles: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	go http.Serve(l, mux) // until the process ends
	return nil
}
