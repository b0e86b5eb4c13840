package catalog

import (
	"context"
	"errors"
	"fmt"
)

// ErrFewerUsers is the outcome of a Reload that would take away more than a tenth of the users: most likely
// the source was read while it was written, or was cut off.
var ErrFewerUsers = errors.New("more than a tenth of the users are missing")

// ErrRenamed is the outcome of a Reload or LoadNext in which an id belongs to another user than before. A
// token holds the id, and so does an order.
var ErrRenamed = errors.New("a user has another name than before")

// Reload reads the source again: users may have come, and names and pictures of foods may be others, while
// stocks and prices of a sale are fixed. It returns a new catalogue and leaves c as it is. Errors:
// ErrFewerUsers, ErrRenamed and the error of CutOff unless force is set, other foods, or why the source
// cannot be read.
func (c *Catalog) Reload(ctx context.Context, cfg Config, force bool) (*Catalog, error) {
	fresh, err := Load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if here, sale := fresh.Currency(), c.Currency(); here != sale {
		return nil, fmt.Errorf("its currency is not that of the sale: %s: %q; in the sale it is %q",
			cfg.source().name(foodTable), here, sale)
	}
	if there := firstOther(fresh.foods, c.foods); there != "" {
		return nil, fmt.Errorf("its foods, stocks or prices are not those of the sale: %s: %s",
			cfg.source().name(foodTable), there)
	}
	if !force {
		err = c.checkUsers(fresh, cfg)
	}
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// LoadNext reads the catalogue of the next sale: other foods, and the users of c or more. Errors:
// ErrFewerUsers, ErrRenamed and the error of CutOff unless force is set, or why the source cannot be read.
func (c *Catalog) LoadNext(ctx context.Context, cfg Config, force bool) (*Catalog, error) {
	next, err := Load(ctx, cfg)
	if err != nil || force {
		return next, err
	}
	if err := c.checkUsers(next, cfg); err != nil {
		return nil, err
	}
	return next, nil
}

// checkUsers refuses a source that most likely was read while it was written, and one that gives the id of a
// user to another one.
func (c *Catalog) checkUsers(fresh *Catalog, cfg Config) error {
	if fresh.cutOff != nil {
		return fresh.cutOff
	}
	if before, after := c.Users(), fresh.Users(); 10*after < 9*before {
		return fmt.Errorf("%w: %d before, %d in %s; complete it, or start with -force-reload",
			ErrFewerUsers, before, after, cfg.Source())
	}
	if user := fresh.Names().Renamed(c.Names()); user != 0 {
		return fmt.Errorf("%w: user %d in %s, who would get the tokens and the order of the other one; give "+
			"ids to new users only, or start with -force-reload", ErrRenamed, user, cfg.Source())
	}
	return nil
}

// firstOther describes the first food that differs from the sale's, "" if all foods are the same.
func firstOther(here, sale []Food) string {
	for i := range max(len(here), len(sale)) {
		switch {
		case i >= len(here):
			return fmt.Sprintf("food %d is missing", i+1)
		case i >= len(sale):
			return fmt.Sprintf("the sale has no food %d", i+1)
		case here[i].Stock != sale[i].Stock:
			return fmt.Sprintf("food %d has stock %d; in the sale it has %d", i+1, here[i].Stock, sale[i].Stock)
		case here[i].Price != sale[i].Price:
			return fmt.Sprintf("food %d has price %d; in the sale it has %d", i+1, here[i].Price, sale[i].Price)
		}
	}
	return ""
}
