package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// finish checks what only all lines together show, and makes the tables.
func (p *parser) finish() (*Set, error) {
	s := p.set
	ruled := len(s.limits)+len(s.windows)+len(s.households) > 0
	switch {
	case p.none && (ruled || len(s.groups) > 0):
		return nil, p.fault(errors.New("none stands beside other lines"))
	case !p.none && !ruled: // a file that was emptied by accident must not switch the rules off
		return nil, p.fault(errors.New("there are no limits, windows or households; write none for no rules"))
	}
	if err := p.checkGroups(); err != nil {
		return nil, err
	}
	if err := p.mergePeople(); err != nil {
		return nil, err
	}
	if err := p.sortCodes(); err != nil {
		return nil, err
	}
	return s, p.makeTerms()
}

// fault is for the main file as a whole.
func (p *parser) fault(err error) error { return place{p.source.Files[0].Name, 1}.fault(err) }

// checkGroups refuses a limit or a window of a group that nobody can be in: its name may be a typing error.
func (p *parser) checkGroups() error {
	s := p.set
	for _, n := range p.named {
		if n.group != everyone && !s.groups[n.group].filled {
			return n.at.fault(fmt.Errorf("the group %s has no members and no coupons", s.groups[n.group].name))
		}
	}
	return nil
}

// mergePeople makes one person of all lines of a user.
func (p *parser) mergePeople() error {
	slices.SortStableFunc(p.people, func(a, b someone) int { return cmp.Compare(a.user, b.user) })
	people := make([]person, 0, len(p.people))
	for _, next := range p.people {
		n := len(people)
		if n == 0 || people[n-1].user != next.user {
			people = append(people, next.person)
			continue
		}
		last := &people[n-1]
		last.groups |= next.groups
		if next.household < 0 {
			continue
		}
		if last.household >= 0 && last.household != next.household {
			return next.at.fault(fmt.Errorf("user %d is of the household %s already", next.user,
				p.set.households[last.household]))
		}
		last.household = next.household
	}
	p.set.people = slices.Clip(people)
	return nil
}

func (p *parser) sortCodes() error {
	slices.SortStableFunc(p.codes, func(a, b coded) int { return cmp.Compare(a.hash, b.hash) })
	c := &p.set.codes
	c.hashes, c.groups = make([]uint64, len(p.codes)), make([]uint8, len(p.codes))
	for i, code := range p.codes {
		if i > 0 && code.hash == p.codes[i-1].hash {
			before := p.codes[i-1].at
			return code.at.fault(fmt.Errorf("the coupon stands at %s:%d, too", before.file, before.line))
		}
		c.hashes[i], c.groups[i] = code.hash, code.group
	}
	return nil
}

// makeTerms makes the terms of all sets of groups that an order may have.
func (p *parser) makeTerms() error {
	s := p.set
	sets := map[uint32]bool{0: true}
	for _, who := range s.people {
		sets[who.groups] = true
	}
	s.terms = map[uint32]string{}
	for groups := range sets {
		s.terms[groups] = ""
		for i, g := range s.groups {
			if g.coupons > 0 {
				s.terms[groups|1<<i] = ""
			}
		}
		if len(s.terms) > SetsMax {
			return p.fault(fmt.Errorf("users are in more than %d different sets of groups", SetsMax))
		}
	}
	for groups := range s.terms {
		text := s.termsOf(groups)
		if len(text) > TermsMax {
			return p.fault(fmt.Errorf("the rules of one user take %d bytes, more than %d: use fewer foods or windows",
				len(text), TermsMax))
		}
		s.terms[groups] = text
	}
	return nil
}
