// Package sale is what the load and the audit share: who may buy what, where the servers are, and the
// outcome of each flow. It sends no request.
package sale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"flashsale/internal/catalog"
)

// RootID is the id of the only administrator.
const RootID = 1

var (
	// ErrUsage is a wrong flag or a catalogue that is not the server's.
	ErrUsage = errors.New("bad usage")
	// ErrUnreachable is a server that does not answer, or a sale that places no order.
	ErrUnreachable = errors.New("sale unreachable")
)

// Sale is the users and the foods before the first order, from the server's own catalogue.
type Sale struct {
	Users []catalog.User // by id
	Foods []catalog.Food // by id, ids contiguous from 1
	Root  catalog.User
}

// Read reads a catalogue. Its errors are an ErrUsage.
func Read(ctx context.Context, c catalog.Config) (*Sale, error) {
	s := &Sale{}
	foods, err := catalog.Read(ctx, c, func(u catalog.User) error {
		if u.ID == RootID {
			s.Root = u
		}
		s.Users = append(s.Users, u)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read catalogue: %w", ErrUsage, err)
	}
	if s.Root.ID != RootID {
		return nil, fmt.Errorf("%w: the catalogue has no user %d, the administrator whom the audit needs",
			ErrUsage, RootID)
	}
	if len(foods) == 0 {
		return nil, fmt.Errorf("%w: the catalogue has no foods", ErrUsage)
	}
	s.Foods = foods
	slices.SortFunc(s.Users, func(a, b catalog.User) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Foods, func(a, b catalog.Food) int { return cmp.Compare(a.ID, b.ID) })
	return s, nil
}

// Free lists the users who have not bought, highest ids first and so root last: people who try the server by
// hand use the first users.
func (s *Sale) Free(bought map[uint32]bool) []catalog.User {
	users := slices.DeleteFunc(slices.Clone(s.Users), func(u catalog.User) bool { return bought[u.ID] })
	slices.Reverse(users)
	return users
}

// Buyers picks n of the free users, or all of them if there are fewer, and reports on stderr the number of
// skipped users. Without a free user the error is an ErrUsage.
func (s *Sale) Buyers(n int, free []catalog.User, stderr io.Writer) ([]catalog.User, error) {
	all, ordered := len(s.Users), len(s.Users)-len(free)
	if len(free) == 0 {
		return nil, fmt.Errorf("%w: all %d users have an order and each buys once; open a new sale",
			ErrUsage, all)
	}
	if ordered > 0 || len(free) < n {
		fmt.Fprintf(stderr, "bench: %d users buy, -orders asks for %d; %d of %d have an order already "+
			"and are skipped\n",
			min(n, len(free)), n, ordered, all)
	}
	return free[:min(n, len(free))], nil
}

// HasUser reports whether the catalogue has a user of this id.
func (s *Sale) HasUser(id uint32) bool {
	_, found := slices.BinarySearchFunc(s.Users, id,
		func(u catalog.User, id uint32) int { return cmp.Compare(u.ID, id) })
	return found
}

// Food finds a food by its id.
func (s *Sale) Food(id int64) (catalog.Food, bool) {
	i, found := slices.BinarySearchFunc(s.Foods, id,
		func(f catalog.Food, id int64) int { return cmp.Compare(f.ID, id) })
	if !found {
		return catalog.Food{}, false
	}
	return s.Foods[i], true
}

// PiecesMax is the contract's limit of pieces in a cart. The load sends at most this number of adds, of one
// piece each, and the audit checks every order. It is not the server's constant: bench proves from outside.
const PiecesMax = 3

// Outcome is what a buyer knows of its order.
type Outcome uint8

const (
	NotOrdered Outcome = iota // the flow ended before the order was sent
	Placed                    // answered 200
	Refused                   // answered with a reason: there must be no order
	Unknown                   // no answer, or a 5xx
	Stranded                  // with -retry: a step before the order was never answered
)

func (o Outcome) String() string {
	return [...]string{"not ordered", "placed", "refused", "unknown", "stranded"}[o]
}

// Attempt is one flow as the audit needs it: the pieces in the cart and the outcome of the order.
type Attempt struct {
	UserID  uint32
	Outcome Outcome
	OrderID string // when placed
	Adds    int8
	Foods   [PiecesMax]int64 // one piece of each, in the order sent
	Twice   [PiecesMax]bool  // the server may have seen this add two times
	Settled bool             // a repeat of the order settled its unknown outcome
}
