package config

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Status is what flashsale status is to show.
type Status struct {
	Servers  []string // host:port of each server's -ops
	Watch    bool     // again and again
	Interval time.Duration
}

const (
	statusUsage = `flashsale status [-ops address,...] [-watch [interval]] shows how a sale goes.
It reads /metrics of the servers with these -ops addresses.
Exit code: 0 all servers and their Redis answer, with all slices, 1 not all do, 2 no server was reached or
a flag is wrong.
`
	statusInterval                           = time.Second
	statusIntervalLeast, statusIntervalLimit = 200 * time.Millisecond, time.Minute
)

// ParseStatus reads the arguments of flashsale status. After -h the error is flag.ErrHelp.
func ParseStatus(args []string, out io.Writer) (*Status, error) {
	s := &Status{Interval: statusInterval}
	f := NewFlags("flashsale status")
	f.Group("Flags")
	var servers string
	f.Text(&servers, "ops", "127.0.0.1:9100", "the `address` of -ops of each server, host:port, with commas "+
		"between")
	f.Switch(&s.Watch, "watch", "show it again and again, each second or at the interval that follows, as 5s")
	args = s.cutInterval(args)
	if err := f.Parse(args, out, statusUsage); err != nil {
		return nil, err
	}
	if s.Interval < statusIntervalLeast || s.Interval > statusIntervalLimit {
		return nil, fmt.Errorf("the interval of -watch is %v; it must be from %v to %v", s.Interval,
			statusIntervalLeast, statusIntervalLimit)
	}
	for address := range strings.SplitSeq(servers, ",") {
		host, port, err := net.SplitHostPort(strings.TrimSpace(address))
		if err != nil || port == "" {
			return nil, fmt.Errorf("%s has %q; it must be host:port, as 127.0.0.1:9100", f.source("ops"), address)
		}
		server := net.JoinHostPort(host, port)
		if slices.Contains(s.Servers, server) {
			return nil, fmt.Errorf("%s has %s twice", f.source("ops"), server)
		}
		s.Servers = append(s.Servers, server)
	}
	return s, nil
}

// cutInterval takes the time behind -watch and returns the other arguments.
func (s *Status) cutInterval(args []string) (rest []string) {
	i := 1 + slices.IndexFunc(args, func(arg string) bool { return arg == "-watch" || arg == "--watch" })
	if i == 0 || i == len(args) {
		return args
	}
	interval, err := time.ParseDuration(args[i])
	if err != nil {
		return args // another flag
	}
	s.Interval = interval
	return slices.Delete(slices.Clone(args), i, i+1)
}
