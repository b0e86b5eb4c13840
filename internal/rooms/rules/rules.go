// Package rules holds the rules of a purchase: how many pieces of a food a user may have, when a group of
// users may buy it, households that have one order together, and coupons. They come from a file (parse.go).
// A Rules decides nothing itself: it turns a user and a coupon into the terms that redisx/order_rules.lua
// checks in the step that places the order. It never waits for Redis. For does not allocate.
package rules

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"flashsale/redisx"
)

// Limits of a file with rules, with the files that it names.
const (
	BytesMax   = 32 << 20  // of all files
	LinesMax   = 1000      // of limits and windows
	FoodsMax   = 100       // with lines of their own
	GroupsMax  = 32        // of users
	MembersMax = 1_000_000 // of all groups and households
	CouponsMax = 1_000_000
	SetsMax    = 1024 // sets of groups that some user is in, with each coupon
	TermsMax   = 4096 // bytes that an order carries to Redis
	NameMax    = 64   // bytes of the name of a group or a household
	PiecesMax  = 9
	CodeMin    = 6 // characters of a coupon
	CodeMax    = 32
)

// Rules are the rules in use. Its methods are safe for concurrent use.
type Rules struct{ set atomic.Pointer[Set] }

// New returns the Rules of a set.
func New(set *Set) *Rules {
	r := &Rules{}
	r.Use(set)
	return r
}

// Use replaces the rules.
func (r *Rules) Use(set *Set) { r.set.Store(set) }

// Set returns the rules in use.
func (r *Rules) Set() *Set { return r.set.Load() }

// Set is what a file says. It never changes.
type Set struct {
	Version    string // of the text: 16 hex digits
	groups     []group
	limits     []limit
	windows    []window
	foods      []int64  // with lines of their own, sorted
	people     []person // by user
	households []string
	codes      codes
	terms      map[uint32]string // of redisx.Terms, by set of groups
}

// group is a group of users; its place is its bit in a set of groups.
type group struct {
	name             string
	members, coupons int
	filled           bool // a line gives it members or coupons, perhaps from an empty file
}

// everyone is the group of all users, and all the food of all foods that have no lines of their own.
const (
	everyone = -1
	all      = 0
)

// limit is a line: pieces of a food that a member of the group may have.
type limit struct {
	food   int64
	group  int
	pieces int
}

// window is a line: when members of the group may buy a food.
type window struct {
	food  int64
	group int
	Window
}

// person is a user whom lines name.
type person struct {
	user      uint32
	groups    uint32 // set of groups
	household int32  // place, -1 for none
}

// For returns the terms of an order of a user with a coupon, which is empty for none. known is false for a
// coupon that no line names. scratch has room for CodeMax bytes; the terms use it.
func (r *Rules) For(user uint32, coupon, scratch []byte) (terms redisx.Terms, known bool) {
	set := r.Set()
	p := set.person(user)
	groups := p.groups
	if len(coupon) > 0 {
		code, ok := normal(scratch[:0], coupon)
		place, found := set.codes.find(code)
		if !ok || !found {
			return redisx.Terms{Coupon: redisx.UnknownCoupon}, false
		}
		terms.Coupon, groups = code, groups|1<<place
	}
	if p.household >= 0 {
		terms.Household = set.households[p.household]
	}
	terms.Foods = set.terms[groups]
	return terms, true
}

func (s *Set) person(user uint32) person {
	i, found := slices.BinarySearchFunc(s.people, user, func(p person, user uint32) int {
		return cmp.Compare(p.user, user)
	})
	if !found {
		return person{household: -1}
	}
	return s.people[i]
}

// normal is a code with capital letters. ok is false for what is no code.
func normal(dst, code []byte) (_ []byte, ok bool) {
	code = bytes.TrimSpace(code)
	if len(code) < CodeMin || len(code) > CodeMax {
		return nil, false
	}
	for _, c := range code {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if !('A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-') {
			return nil, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

// Codes are kept as hashes: 9 bytes each.
type codes struct {
	seed   maphash.Seed
	hashes []uint64 // sorted
	groups []uint8  // place of the group of each
}

func (c *codes) hash(code []byte) uint64 { return maphash.Bytes(c.seed, code) }

func (c *codes) find(code []byte) (group uint8, found bool) {
	if len(c.hashes) == 0 {
		return 0, false
	}
	i, found := slices.BinarySearch(c.hashes, c.hash(code))
	if !found {
		return 0, false
	}
	return c.groups[i], true
}

// Group is a group for operators.
type Group struct {
	Name    string `json:"name"`
	Members int    `json:"members"`
	Coupons int    `json:"coupons"`
}

// Groups returns all groups, in the order of their first lines.
func (s *Set) Groups() []Group {
	list := make([]Group, len(s.groups))
	for i, g := range s.groups {
		list[i] = Group{g.name, g.members, g.coupons}
	}
	return list
}

// Coupons is the number of all coupons.
func (s *Set) Coupons() int { return len(s.codes.hashes) }

// Households is the number of all households.
func (s *Set) Households() int { return len(s.households) }

// Users is the number of users that lines name.
func (s *Set) Users() int { return len(s.people) }

// Lines is the number of limits and windows.
func (s *Set) Lines() int { return len(s.limits) + len(s.windows) }
