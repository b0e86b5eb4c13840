package compare

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

const (
	// SidesMax is the limit of sides of a comparison.
	SidesMax       = 16
	FloorProgram   = "floor"   // ready-made replies, as a side and as a subcommand of bench
	productProgram = "product" // this repository's server, built for the comparison
	storeVariable  = "STORE"
	serversMax     = 16

	// OwnProduct is this repository's server with its default store.
	OwnProduct = storeVariable + "=" + storeOwn + " " + productProgram
)

// The kinds of Redis that a side gets.
const (
	storeOff      = "off"      // private redis-server on a unix socket, nothing on disk
	storeAlways   = "always"   // the same with its log on disk before each reply
	storeEverysec = "everysec" // the same with its log on disk once a second
	storeTCP      = "tcp"      // as off, on a port of 127.0.0.1
	storeOwn      = "own"      // whatever the server starts by itself
)

var stores = []string{storeOff, storeAlways, storeEverysec, storeTCP, storeOwn}

// Side is one of the compared configurations.
type Side struct {
	text    string   // as given, its name in the report
	env     []string // NAME=VALUE
	program string   // FloorProgram, productProgram or the path of a server with the product's flags
	flags   []string
	store   string // one of stores; "" for the floor
	servers int    // of this kind, one sale on one Redis
	slow    int    // connections of an attacker during the load
	idle    int    // connections open and silent during the load
	viewers int    // of GET /live during the load
}

// sells reports whether the side sells: the floor does not.
func (s *Side) sells() bool { return s.program != FloorProgram }

// exists refuses a missing program before any other side runs.
func (s *Side) exists() error {
	if s.program == FloorProgram || s.program == productProgram {
		return nil
	}
	if _, err := exec.LookPath(s.program); err != nil {
		return s.refuse("%w", err)
	}
	return nil
}

func (s *Side) refuse(format string, args ...any) error {
	return fmt.Errorf("%w: compare side %q: "+format, append([]any{sale.ErrUsage, s.text}, args...)...)
}

// parseSides reads sides separated by |. A side is NAME=VALUE words, then a program and its flags, all
// without quotes.
func parseSides(text string) ([]Side, error) {
	var sides []Side
	for part := range strings.SplitSeq(text, "|") {
		s, err := ParseSide(part)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sides, func(other Side) bool { return other.text == s.text }) {
			return nil, s.refuse("it is named twice")
		}
		sides = append(sides, s)
	}
	if len(sides) > SidesMax {
		return nil, fmt.Errorf("%w: compare names %d sides, at most %d", sale.ErrUsage, len(sides), SidesMax)
	}
	return sides, nil
}

// ParseSide reads one side. Its errors are an ErrUsage.
func ParseSide(text string) (Side, error) {
	words := strings.Fields(text)
	s := Side{text: strings.Join(words, " "), store: storeOff, servers: 1}
	for len(words) > 0 {
		name, value, assigned := strings.Cut(words[0], "=")
		if !assigned || strings.HasPrefix(name, "-") || strings.Contains(name, "/") {
			break
		}
		if known, err := s.set(name, value); err != nil {
			return s, err
		} else if !known {
			s.env = append(s.env, words[0])
		}
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return s, s.refuse("it names no program; that is %s, %s or the path of a server", FloorProgram,
			productProgram)
	}
	s.program, s.flags = words[0], words[1:]
	return s, s.check()
}

// set takes a NAME=VALUE that is for bench; the others are the server's environment.
func (s *Side) set(name, value string) (known bool, err error) {
	if name == storeVariable {
		if s.store = value; !slices.Contains(stores, value) {
			return true, s.refuse("%s is one of %v", storeVariable, stores)
		}
		return true, nil
	}
	for _, of := range []struct {
		name  string
		value *int
		most  int
	}{{"SERVERS", &s.servers, serversMax}, {"SLOW", &s.slow, slowMax}, {"IDLE", &s.idle, load.CrowdMax},
		{"VIEWERS", &s.viewers, load.CrowdMax}} {
		if of.name == name {
			if *of.value, err = strconv.Atoi(value); err != nil || *of.value < 1 || *of.value > of.most {
				return true, s.refuse("%s is a number from 1 to %d", name, of.most)
			}
			return true, nil
		}
	}
	return false, nil
}

// benchFlags are set by bench, alike for all sides. A side must not set them: bench would not know of it.
var benchFlags = []string{"app-host", "app-port", "users", "foods", "stock", "root-password",
	"catalog-dir", "db-host"}

func (s *Side) check() error {
	switch {
	case s.servers > 1 && s.store == storeOwn:
		return s.refuse("servers of STORE=own share no Redis")
	case !s.sells() && s.store != storeOff:
		return s.refuse("the floor has no store")
	case !s.sells():
		s.store = ""
	}
	for _, name := range benchFlags {
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		set := func(word string) bool {
			flag, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
			return strings.HasPrefix(word, "-") && flag == name || strings.HasPrefix(word, variable+"=")
		}
		if slices.ContainsFunc(s.env, set) || slices.ContainsFunc(s.flags, set) {
			return s.refuse("it sets %s, which bench sets for all sides", name)
		}
	}
	return nil
}
