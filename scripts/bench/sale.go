package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// buyers picks n of the free users, all of them when there are fewer, and says on stderr how many are skipped. None at all
// is an errUsage.
func (s *sale) buyers(n int, free []catalog.User, stderr io.Writer) ([]catalog.User, error) {
	all, ordered := len(s.users), len(s.users)-len(free)
	if len(free) == 0 {
		return nil, fmt.Errorf("%w: all %d users have an order and each buys once; open a new sale", errUsage, all)
	}
	if ordered > 0 || len(free) < n {
		fmt.Fprintf(stderr, "bench: %d users buy, -orders asks for %d; %d of %d have an order already and are skipped\n",
			min(n, len(free)), n, ordered, all)
	}
	return free[:min(n, len(free))], nil
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
