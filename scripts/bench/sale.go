package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"flashsale/internal/catalog"
)

// rootID is the id of the only administrator.
const rootID = 1

// sale is who may buy and what there is to buy when nothing has been sold yet, from the server's own catalogue.
type sale struct {
	users []catalog.User // by id
	foods []catalog.Food // by id, ids contiguous from 1
	root  catalog.User
}

// readSale reads the catalogue that the options name. Its errors are an errUsage.
func readSale(ctx context.Context, opt options) (sale, error) {
	var s sale
	foods, err := catalog.Read(ctx, opt.catalog, func(u catalog.User) error {
		if u.ID == rootID {
			s.root = u
		}
		s.users = append(s.users, u)
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("%w: cannot read catalogue: %w", errUsage, err)
	}
	if s.root.ID != rootID {
		return s, fmt.Errorf("%w: the catalogue has no user %d, the administrator whom the audit needs", errUsage, rootID)
	}
	if len(foods) == 0 {
		return s, fmt.Errorf("%w: the catalogue has no foods", errUsage)
	}
	if !opt.auditOnly && !opt.ramp && opt.orders > len(s.users) {
		return s, fmt.Errorf("%w: -orders %d is more than the %d users; each buys once", errUsage, opt.orders, len(s.users))
	}
	s.foods = foods
	slices.SortFunc(s.users, func(a, b catalog.User) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.foods, func(a, b catalog.Food) int { return cmp.Compare(a.ID, b.ID) })
	return s, nil
}

// free lists the users who have no order among the earlier ones, highest ids first and so root last. The first users are
// left to whoever tries the server by hand.
func (s *sale) free(earlier []order) []catalog.User {
	bought := make(map[uint32]bool, len(earlier))
	for _, o := range earlier {
		bought[o.UserID] = true
	}
	users := slices.DeleteFunc(slices.Clone(s.users), func(u catalog.User) bool { return bought[u.ID] })
	slices.Reverse(users)
	return users
}

// buyers picks n of the free users.
func (s *sale) buyers(n int, earlier []order) ([]catalog.User, error) {
	free := s.free(earlier)
	if len(free) < n {
		return nil, fmt.Errorf("%w: only %d users have no order yet (%d have one), -orders wants %d; ask for fewer or open a new sale",
			errUsage, len(free), len(s.users)-len(free), n)
	}
	return free[:n], nil
}

// hasUser tells whether the catalogue has a user of this id.
func (s *sale) hasUser(id uint32) bool {
	_, found := slices.BinarySearchFunc(s.users, id, func(u catalog.User, id uint32) int { return cmp.Compare(u.ID, id) })
	return found
}

// food finds a food by its id.
func (s *sale) food(id int64) (catalog.Food, bool) {
	i, found := slices.BinarySearchFunc(s.foods, id, func(f catalog.Food, id int64) int { return cmp.Compare(f.ID, id) })
	if !found {
		return catalog.Food{}, false
	}
	return s.foods[i], true
}

// matches refuses, as an errUsage, servers that sell other foods or at other prices than the catalogue given.
func (s *sale) matches(listings []listing) error {
	for _, l := range listings {
		if len(l.foods) != len(s.foods) {
			return fmt.Errorf("%w: %s sells %d foods, the catalogue given has %d; give bench the server's catalogue flags",
				errUsage, l.server, len(l.foods), len(s.foods))
		}
		for _, offered := range l.foods {
			if f, found := s.food(offered.ID); !found || f.Price != offered.Price {
				return fmt.Errorf("%w: %s sells food %d at %d, the catalogue given has it at %d; give bench the server's catalogue flags",
					errUsage, l.server, offered.ID, offered.Price, f.Price)
			}
		}
	}
	return nil
}
