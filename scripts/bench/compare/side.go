package compare

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

const (
	FloorProgram   = "floor"   // ready-made replies, as a side and as a subcommand of bench
	productProgram = "product" // this repository's server, built for the comparison
)

// The kinds of Redis that a side gets.
const (
	storeOff    = "off"    // private redis-server on a unix socket, nothing on disk
	storeAlways = "always" // the same with its log on disk before each reply
	storeOwn    = "own"    // whatever the server starts by itself
)

var stores = []string{storeOff, storeAlways, storeOwn}

// Side is one of the compared configurations.
type Side struct {
	text     string   // as given, its name in the report
	env      []string // NAME=VALUE
	program  string   // FloorProgram, productProgram or the path of a server with the product's flags
	flags    []string
	store    string // one of stores; "" for the floor
	nodes    int    // plain Redis
	masters  int    // of a Redis Cluster in place of the plain ones; 0 = no cluster
	replicas int    // of the plain Redis, or of each master
	servers  int    // of this kind, one sale
	idle     int    // connections open and silent during the load
	viewers  int    // of GET /live during the load
	talkers  int    // users of the conversation during the load
}

// sells reports whether the side sells: the floor does not.
func (s *Side) sells() bool { return s.program != FloorProgram }

func (s *Side) refuse(format string, args ...any) error {
	return fmt.Errorf("%w: compare side %q: "+format, append([]any{sale.ErrUsage, s.text}, args...)...)
}

// ParseSide reads NAME=VALUE words, then a program and its flags, all without quotes. Its errors are an
// ErrUsage.
func ParseSide(text string) (Side, error) {
	words := strings.Fields(text)
	s := Side{text: strings.Join(words, " "), store: storeOff, nodes: 1, servers: 1}
	for len(words) > 0 {
		name, value, assigned := strings.Cut(words[0], "=")
		if !assigned || strings.HasPrefix(name, "-") || strings.Contains(name, "/") {
			break
		}
		if err := s.set(name, value); err != nil {
			return s, err
		}
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return s, s.refuse("it names no program; that is %s, %s or the path of a server", FloorProgram,
			productProgram)
	}
	s.program, s.flags = words[0], words[1:]
	switch {
	case s.servers > 1 && s.store == storeOwn:
		return s, s.refuse("servers of STORE=own share no Redis")
	case s.nodes > 1 && s.masters+s.replicas > 0,
		s.nodes+s.masters+s.replicas > 1 && s.store == storeOwn:
		return s, s.refuse("REDIS, STORE=own, and CLUSTER with REPLICAS are for different sides")
	case s.idle > 0 && s.viewers > 0:
		return s, s.refuse("IDLE and VIEWERS are for two sides")
	case s.talkers > 0 && !s.sells():
		return s, s.refuse("CHAT needs a server")
	case !s.sells():
		s.store = ""
	}
	return s, nil
}

// set takes a NAME=VALUE: one for bench, or a part of the server's environment.
func (s *Side) set(name, value string) (err error) {
	numbers := map[string]*int{"REDIS": &s.nodes, "CLUSTER": &s.masters, "REPLICAS": &s.replicas,
		"SERVERS": &s.servers, "IDLE": &s.idle, "VIEWERS": &s.viewers, "CHAT": &s.talkers}
	switch number := numbers[name]; {
	case name == "STORE":
		if s.store = value; !slices.Contains(stores, value) {
			return s.refuse("STORE is one of %v", stores)
		}
	case number != nil:
		if *number, err = strconv.Atoi(value); err != nil || *number < 1 {
			return s.refuse("%s is a number from 1 on", name)
		}
	default:
		s.env = append(s.env, name+"="+value)
	}
	return nil
}

// gather opens the connections that stay open beside the buyers; without any the crowd is nil.
func (s *Side) gather(ctx context.Context, opt load.Options) (*load.Crowd, error) {
	switch {
	case s.idle > 0:
		return load.OpenIdle(ctx, opt, s.idle)
	case s.viewers > 0:
		return load.OpenViewers(ctx, opt, s.viewers)
	}
	return nil, nil
}
