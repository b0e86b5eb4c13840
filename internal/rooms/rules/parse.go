package rules

import (
	"encoding/csv"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Context is what the lines speak of.
type Context struct {
	Foods int // with the ids from 1
	// User finds a user by id or name. The id 0 is a user to skip.
	User   func(text string) (id uint32, err error)
	Slices int // of the sale: households and coupons need a sale of one
}

// kind is a kind of lines: its fields behind the kind, of which the last ones may be missing.
type kind struct {
	name, fields string
	least, most  int
	read         func(p *parser, fields []string) error
}

// kinds are all kinds. A food is its id or *, a group is its name or everyone, a user is an id or a name,
// times are RFC 3339 or empty, files stand beside the main file.
var kinds = []kind{
	{"limit", "food,pieces,group", 2, 3, (*parser).limit},
	{"window", "food,group,from,until", 2, 4, (*parser).window},
	{"member", "group,user", 2, 2, (*parser).member},
	{"members", "group,file", 2, 2, (*parser).members},
	{"coupon", "group,code", 2, 2, (*parser).coupon},
	{"coupons", "group,file", 2, 2, (*parser).coupons},
	{"household", "name,user", 2, 2, (*parser).household},
	{"households", "file", 1, 1, (*parser).householdFile},
	{"none", "", 0, 0, func(p *parser, _ []string) error { p.none = true; return nil }},
}

// Parse reads rules. It refuses all of them for one fault, and names its file and line.
func Parse(source *Source, with Context) (*Set, error) {
	set := &Set{Version: source.version(), codes: codes{seed: maphash.MakeSeed()}}
	p := &parser{source: source, with: with, set: set, groups: map[string]int{}, houses: map[string]int32{}}
	if err := p.file(source.Files[0].Name, p.line); err != nil {
		return nil, err
	}
	return p.finish()
}

// parser is a set that is being read.
type parser struct {
	source *Source
	with   Context
	set    *Set
	none   bool             // a line says that there are no rules
	groups map[string]int   // places, by name
	houses map[string]int32 // the same of households
	named  []named          // groups, by limits and windows
	people []someone
	codes  []coded

	here place
}

// place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) fault(err error) error { return &fault{fmt.Errorf("%s:%d: %w", p.file, p.line, err)} }

// fault is an error that names its place.
type fault struct{ error }

// named is where a line names a group, someone a user of a line, coded a coupon.
type (
	named struct {
		group int
		at    place
	}
	someone struct {
		person
		at place
	}
	coded struct {
		hash  uint64
		group uint8
		at    place
	}
)

// file reads the lines of a file.
func (p *parser) file(name string, read func(fields []string) error) error {
	before := p.here
	defer func() { p.here = before }()
	text, there := p.source.text(name)
	if !there { // Read has read all
		return fmt.Errorf("%.80q is not among the files", name)
	}
	if text != "" && text[len(text)-1] != '\n' {
		last := place{name, 1 + strings.Count(text, "\n")}
		return last.fault(errors.New("the file ends within this line; end it with a line break if it is whole"))
	}
	lines := newLines(text)
	for {
		fields, number, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
			return place{name, wrong.Line}.fault(wrong.Err)
		}
		p.here = place{name, number}
		if err := read(fields); err != nil {
			if _, placed := err.(*fault); placed {
				return err
			}
			return p.here.fault(err)
		}
	}
}

// line reads a line of the main file.
func (p *parser) line(fields []string) error {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == fields[0] })
	if i < 0 {
		return fmt.Errorf("%.30q is no kind of line; there are %s", fields[0], names())
	}
	k := kinds[i]
	for len(fields) > 1+k.least && fields[len(fields)-1] == "" { // a spreadsheet fills lines up with commas
		fields = fields[:len(fields)-1]
	}
	if n := len(fields) - 1; n < k.least || n > k.most {
		return fmt.Errorf("%s has %d fields behind it, want %s", k.name, n, k.fields)
	}
	padded := make([]string, k.most)
	copy(padded, fields[1:])
	return k.read(p, padded)
}

func names() string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.name)
	}
	return strings.Join(list, ", ")
}

func (p *parser) limit(f []string) error {
	food, err := p.food(f[0])
	if err != nil {
		return err
	}
	group, err := p.userGroup(f[2])
	if err != nil {
		return err
	}
	pieces, err := strconv.Atoi(f[1])
	if err != nil || pieces < 0 || pieces > PiecesMax {
		return fmt.Errorf("%.30q pieces; want 0 to %d", f[1], PiecesMax)
	}
	p.set.limits = append(p.set.limits, limit{food, group, pieces})
	return p.ruled(group)
}

func (p *parser) window(f []string) error {
	food, err := p.food(f[0])
	if err != nil {
		return err
	}
	group, err := p.userGroup(f[1])
	if err != nil {
		return err
	}
	w := window{food: food, group: group}
	for i, at := range []*time.Time{&w.From, &w.Until} {
		if text := f[2+i]; text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil || at.Unix() < 1 {
				return fmt.Errorf("%.40q is no time since 1970 as 2026-11-29T10:00:00+08:00 or 2026-11-29T02:00:00Z",
					text)
			}
			*at = at.UTC()
		}
	}
	if !w.Until.IsZero() && !w.Until.After(w.From) {
		return errors.New("the window ends before it begins")
	}
	p.set.windows = append(p.set.windows, w)
	return p.ruled(group)
}

// ruled bounds the lines of limits and windows.
func (p *parser) ruled(group int) error {
	p.named = append(p.named, named{group, p.here})
	return most(len(p.set.limits)+len(p.set.windows), LinesMax, "limits and windows")
}

// most refuses more than so many.
func most(n, limit int, what string) error {
	if n > limit {
		return fmt.Errorf("there are more than %d %s", limit, what)
	}
	return nil
}

// food reads * or an id.
func (p *parser) food(text string) (int64, error) {
	if text == "*" {
		return all, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || id > int64(p.with.Foods) {
		return 0, fmt.Errorf("there is no food %.30q; want 1 to %d, or *", text, p.with.Foods)
	}
	if i, found := slices.BinarySearch(p.set.foods, id); !found {
		p.set.foods = slices.Insert(p.set.foods, i, id)
	}
	return id, most(len(p.set.foods), FoodsMax, "foods with lines of their own; use * for the others")
}

// userGroup reads a group of a limit or a window. Its members may come later.
func (p *parser) userGroup(name string) (int, error) {
	if name == "" || name == "everyone" {
		return everyone, nil
	}
	return p.group(name)
}

func (p *parser) group(name string) (int, error) {
	if name == "everyone" {
		return 0, errors.New("everyone is all users; it has no members or coupons of its own")
	}
	i, found := p.groups[name]
	if !found {
		if err := checkName(name); err != nil {
			return 0, err
		}
		i = len(p.set.groups)
		p.groups[name], p.set.groups = i, append(p.set.groups, group{name: strings.Clone(name)})
	}
	return i, most(len(p.set.groups), GroupsMax, "groups")
}

// checkName refuses names with marks of order_rules.lua in them, or that cannot be shown.
func checkName(name string) error {
	strange := func(r rune) bool { return strings.ContainsRune("|;:", r) || !unicode.IsPrint(r) }
	if name == "" || len(name) > NameMax || !utf8.ValidString(name) || strings.ContainsFunc(name, strange) {
		return fmt.Errorf("%.80q is no name; want 1 to %d visible bytes, and no |, ; or : among them", name,
			NameMax)
	}
	return nil
}

// fill names a group that gets members or coupons.
func (p *parser) fill(name string) (i int, err error) {
	if i, err = p.group(name); err == nil {
		p.set.groups[i].filled = true
	}
	return i, err
}

func (p *parser) member(f []string) error {
	i, err := p.fill(f[0])
	if err != nil {
		return err
	}
	p.set.groups[i].members++
	return p.add(f[1], person{groups: 1 << i, household: -1})
}

func (p *parser) members(f []string) error {
	name := f[0]
	if _, err := p.fill(name); err != nil {
		return err
	}
	return p.file(p.source.path(f[1]), func(fields []string) error {
		if len(fields) != 1 {
			return errors.New("want a user")
		}
		return p.member([]string{name, fields[0]})
	})
}

// add adds a user.
func (p *parser) add(text string, who person) error {
	id, err := p.with.User(text)
	if err != nil || id == 0 {
		return err
	}
	who.user = id
	p.people = append(p.people, someone{who, p.here})
	return most(len(p.people), MembersMax, "members of groups and households")
}

func (p *parser) household(f []string) error {
	if p.with.Slices > 1 {
		return p.oneSlice("households")
	}
	i, found := p.houses[f[0]]
	if !found {
		if err := checkName(f[0]); err != nil {
			return err
		}
		i = int32(len(p.set.households))
		name := strings.Clone(f[0])
		p.houses[name], p.set.households = i, append(p.set.households, name)
	}
	return p.add(f[1], person{household: i})
}

// oneSlice refuses what one script cannot check in several slices.
func (p *parser) oneSlice(what string) error {
	return fmt.Errorf("%s need a sale of one slice, and this one has %d: the users of a sale with slices are "+
		"spread over several Redis, which cannot decide together; remove these lines, or open another sale with "+
		"-slices 1", what, p.with.Slices)
}

func (p *parser) householdFile(f []string) error {
	return p.file(p.source.path(f[0]), func(fields []string) error {
		if len(fields) != 2 {
			return errors.New("want name,user")
		}
		return p.household(fields)
	})
}

func (p *parser) coupon(f []string) error {
	if p.with.Slices > 1 {
		return p.oneSlice("coupons")
	}
	i, err := p.fill(f[0])
	if err != nil {
		return err
	}
	code, ok := normal(nil, []byte(f[1]))
	if !ok {
		return fmt.Errorf("%.40q is no coupon; want %d to %d of a-z, A-Z, 0-9 and -", f[1], CodeMin, CodeMax)
	}
	p.set.groups[i].coupons++
	p.codes = append(p.codes, coded{p.set.codes.hash(code), uint8(i), p.here})
	return most(len(p.codes), CouponsMax, "coupons")
}

func (p *parser) coupons(f []string) error {
	name := f[0]
	if _, err := p.fill(name); err != nil {
		return err
	}
	return p.file(p.source.path(f[1]), func(fields []string) error {
		if len(fields) != 1 {
			return errors.New("want a coupon")
		}
		return p.coupon([]string{name, fields[0]})
	})
}
