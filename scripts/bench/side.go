package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

const (
	sidesMax       = 16
	floorProgram   = "floor"
	productProgram = "product" // this repository's server, built for the comparison
	storeVariable  = "STORE"
	countVariable  = "SERVERS"
	slowVariable   = "SLOW"
	countMax       = 16
)

// storeKind says which Redis a side gets.
type storeKind string

const (
	storeOff      storeKind = "off"      // private redis-server on a unix socket, nothing on disk
	storeAlways   storeKind = "always"   // the same with its log on disk before each reply
	storeEverysec storeKind = "everysec" // the same with its log on disk once a second
	storeTCP      storeKind = "tcp"      // as off, on a port of 127.0.0.1
	storeOwn      storeKind = "own"      // whatever the server starts by itself
)

var storeKinds = []storeKind{storeOff, storeAlways, storeEverysec, storeTCP, storeOwn}

// side is one of the configurations that a comparison holds against each other.
type side struct {
	text    string   // as given, its name in the report
	env     []string // NAME=VALUE
	program string   // floorProgram, productProgram or the path of a server with the product's flags; "" for a foreign one
	flags   []string
	store   storeKind // "" where bench starts none
	count   int       // servers of this kind, one sale on one Redis
	slow    int       // connections of an attacker during the load

	// Of a foreign server, which runs already and goes on running.
	servers []string // host:port
	pids    []int    // whose trees serve
}

func (s *side) foreign() bool { return s.program == "" }

// audited says that the side sells for real and that bench knows root's password there.
func (s *side) audited() bool { return !s.foreign() && s.program != floorProgram }

// exists says whether the side's program is there, so that no other side runs in vain.
func (s *side) exists() error {
	if s.foreign() || s.program == floorProgram || s.program == productProgram {
		return nil
	}
	if _, err := exec.LookPath(s.program); err != nil {
		return fmt.Errorf("%w: -compare side %q: %w", errUsage, s.text, err)
	}
	return nil
}

// benchFlags are chosen by bench for all sides alike; a side must not set them, for then bench would not know them.
var benchFlags = []string{"app-host", "app-port", "users", "foods", "stock", "root-password", "catalog-dir", "db-host"}

// parseSides reads sides separated by |. A side is NAME=VALUE words, then a program and its flags, all without quotes.
func parseSides(text string) ([]side, error) {
	var sides []side
	for part := range strings.SplitSeq(text, "|") {
		s, err := parseSide(part)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sides, func(other side) bool { return other.text == s.text }) {
			return nil, fmt.Errorf("%w: -compare names the side %q twice", errUsage, s.text)
		}
		sides = append(sides, s)
	}
	if len(sides) > sidesMax {
		return nil, fmt.Errorf("%w: -compare names %d sides, at most %d", errUsage, len(sides), sidesMax)
	}
	return sides, nil
}

func parseSide(text string) (side, error) {
	words := strings.Fields(text)
	s := side{text: strings.Join(words, " "), store: storeOff, count: 1}
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
				return s, fmt.Errorf("%w: -compare side %q: %s is a number of slow connections from 1 to %d", errUsage, s.text, slowVariable, slowMax)
			}
		default:
			s.env = append(s.env, words[0])
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return s, fmt.Errorf("%w: -compare side %q names no program; it is %s, %s or the path of a server",
			errUsage, s.text, floorProgram, productProgram)
	}
	s.program, s.flags = words[0], words[1:]
	return s, s.check()
}

func (s *side) check() error {
	if !slices.Contains(storeKinds, s.store) {
		return fmt.Errorf("%w: -compare side %q: %s is one of %v", errUsage, s.text, storeVariable, storeKinds)
	}
	if s.count < 1 || s.count > countMax || s.count > 1 && s.store == storeOwn {
		return fmt.Errorf("%w: -compare side %q: %s is a number from 1 to %d, of servers that share a Redis (not %s=%s)",
			errUsage, s.text, countVariable, countMax, storeVariable, storeOwn)
	}
	if strings.HasPrefix(s.program, "-") {
		return fmt.Errorf("%w: -compare side %q names no program before %s", errUsage, s.text, s.program)
	}
	if s.program == floorProgram {
		if s.store != storeOff {
			return fmt.Errorf("%w: -compare side %q: the floor has no store", errUsage, s.text)
		}
		s.store = ""
	}
	for _, name := range benchFlags {
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		set := slices.ContainsFunc(s.env, func(pair string) bool { return strings.HasPrefix(pair, variable+"=") }) ||
			slices.ContainsFunc(s.flags, func(word string) bool {
				flag, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
				return strings.HasPrefix(word, "-") && flag == name
			})
		if set {
			return fmt.Errorf("%w: -compare side %q sets %s, which bench sets for all sides", errUsage, s.text, name)
		}
	}
	return nil
}
