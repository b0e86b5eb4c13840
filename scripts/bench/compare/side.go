package compare

import (
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

const (
	// SidesMax is the limit of sides of a comparison, beside the one of -vs-url.
	SidesMax       = 16
	KernelProgram  = "kernel"  // canned replies from bare epoll, as a side and as a subcommand of bench
	FloorProgram   = "floor"   // canned replies from fasthttp, likewise
	productProgram = "product" // this repository's server, built for the comparison
	storeVariable  = "STORE"
	countVariable  = "SERVERS"
	slowVariable   = "SLOW"
	viewerVariable = "VIEWERS"
	countMax       = 16

	// OwnProduct is this repository's server with its default store.
	OwnProduct = storeVariable + "=" + string(storeOwn) + " " + productProgram
)

// storeKind is the Redis that a side gets.
type storeKind string

const (
	storeOff      storeKind = "off"      // private redis-server on a unix socket, nothing on disk
	storeAlways   storeKind = "always"   // the same with its log on disk before each reply
	storeEverysec storeKind = "everysec" // the same with its log on disk once a second
	storeTCP      storeKind = "tcp"      // as off, on a port of 127.0.0.1
	storeOwn      storeKind = "own"      // whatever the server starts by itself
)

var storeKinds = []storeKind{storeOff, storeAlways, storeEverysec, storeTCP, storeOwn}

// Side is one of the configurations that a comparison holds against each other.
type Side struct {
	text string   // as given, its name in the report
	env  []string // NAME=VALUE
	// KernelProgram, FloorProgram, productProgram or the path of a server with the product's flags; "" for
	// a foreign one
	program string
	flags   []string
	style   []string  // flags of its load, above those of the comparison
	store   storeKind // "" where bench starts none
	count   int       // servers of this kind, one sale on one Redis
	slow    int       // connections of an attacker during the load
	viewers int       // of GET /live during the load; 0 leaves that to -viewers

	// Of a foreign server, which runs already and goes on running.
	servers []string // host:port
	pids    []int    // of the processes that serve; their children count too
}

func (s *Side) foreign() bool { return s.program == "" }

// canned reports whether the side is bench itself with ready-made replies.
func (s *Side) canned() bool { return s.program == KernelProgram || s.program == FloorProgram }

// audited reports whether the side sells for real and that bench knows root's password there.
func (s *Side) audited() bool { return !s.foreign() && !s.canned() }

// load is the comparison's load in the side's own style.
func (s *Side) load(opt load.Options) (load.Options, error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	opt.Style.Register(fs)
	if err := fs.Parse(s.style); err != nil {
		return opt, fmt.Errorf("%w: compare side %q: %w", sale.ErrUsage, s.text, err)
	}
	return opt, nil
}

// exists refuses a program that is not there, so that no other side runs in vain.
func (s *Side) exists() error {
	if s.foreign() || s.canned() || s.program == productProgram {
		return nil
	}
	if _, err := exec.LookPath(s.program); err != nil {
		return fmt.Errorf("%w: compare side %q: %w", sale.ErrUsage, s.text, err)
	}
	return nil
}

// benchFlags are set by bench, alike for all sides. A side must not set them: bench would not know of it.
var benchFlags = []string{"app-host", "app-port", "users", "foods", "stock", "root-password",
	"catalog-dir", "db-host"}

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
			return nil, fmt.Errorf("%w: compare names the side %q twice", sale.ErrUsage, s.text)
		}
		sides = append(sides, s)
	}
	if len(sides) > SidesMax {
		return nil, fmt.Errorf("%w: compare names %d sides, at most %d", sale.ErrUsage,
			len(sides), SidesMax)
	}
	return sides, nil
}

// ParseSide reads one side. Its errors are an ErrUsage.
func ParseSide(text string) (Side, error) {
	words := strings.Fields(text)
	s := Side{text: strings.Join(words, " "), store: storeOff, count: 1}
	for len(words) > 0 {
		name, value, assigned := strings.Cut(words[0], "=")
		if !assigned || strings.HasPrefix(name, "-") || strings.Contains(name, "/") {
			break
		}
		switch name {
		case storeVariable:
			s.store = storeKind(value)
		case countVariable:
			s.count, _ = strconv.Atoi(value) // 0, which check refuses, for what is no number
		case slowVariable:
			if s.slow, _ = strconv.Atoi(value); s.slow < 1 || s.slow > slowMax {
				return s, fmt.Errorf("%w: compare side %q: %s is a number of slow connections from 1 to %d",
					sale.ErrUsage, s.text, slowVariable, slowMax)
			}
		case viewerVariable:
			if s.viewers, _ = strconv.Atoi(value); s.viewers < 1 || s.viewers > viewersMax {
				return s, fmt.Errorf("%w: compare side %q: %s is a number of viewers from 1 to %d", sale.ErrUsage,
					s.text, viewerVariable, viewersMax)
			}
		default:
			s.env = append(s.env, words[0])
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return s, fmt.Errorf("%w: compare side %q names no program; it is %s, %s, %s or the path of a server",
			sale.ErrUsage, s.text, KernelProgram, FloorProgram, productProgram)
	}
	s.program = words[0]
	s.flags, s.style = splitStyle(words[1:])
	return s, s.check()
}

// splitStyle tells the flags of a side's server from those of its load.
func splitStyle(words []string) (flags, style []string) {
	var known flag.FlagSet
	new(load.Style).Register(&known)
	for _, word := range words {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && known.Lookup(name) != nil {
			style = append(style, word)
		} else {
			flags = append(flags, word)
		}
	}
	return flags, style
}

func (s *Side) check() error {
	if !slices.Contains(storeKinds, s.store) {
		return fmt.Errorf("%w: compare side %q: %s is one of %v", sale.ErrUsage, s.text,
			storeVariable, storeKinds)
	}
	if s.count < 1 || s.count > countMax || s.count > 1 && s.store == storeOwn {
		return fmt.Errorf("%w: compare side %q: %s is a number from 1 to %d, of servers that share a "+
			"Redis (not %s=%s)",
			sale.ErrUsage, s.text, countVariable, countMax, storeVariable, storeOwn)
	}
	if strings.HasPrefix(s.program, "-") {
		return fmt.Errorf("%w: compare side %q names no program before %s", sale.ErrUsage,
			s.text, s.program)
	}
	if s.canned() {
		if s.store != storeOff {
			return fmt.Errorf("%w: compare side %q: the %s has no store", sale.ErrUsage, s.text, s.program)
		}
		s.store = ""
	}
	if _, err := s.load(load.Options{}); err != nil {
		return err
	}
	for _, name := range benchFlags {
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		set := slices.ContainsFunc(s.env, func(pair string) bool {
			return strings.HasPrefix(pair, variable+"=")
		}) ||
			slices.ContainsFunc(s.flags, func(word string) bool {
				flag, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
				return strings.HasPrefix(word, "-") && flag == name
			})
		if set {
			return fmt.Errorf("%w: compare side %q sets %s, which bench sets for all sides",
				sale.ErrUsage, s.text, name)
		}
	}
	return nil
}
