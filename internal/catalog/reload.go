package catalog

import (
	"context"
	"errors"
	"fmt"
)

// ErrFewerUsers is the outcome of a Reload that would take away more than a tenth of the users: most likely
// the source was read while it was written, or was cut off.
var ErrFewerUsers = errors.New("more than a tenth of the users are missing")

// Reload reads the source again: users may have come, while the foods of a sale are fixed. It returns a new
// catalogue and leaves c as it is. Errors: ErrFewerUsers unless force is set, other foods, or why the
// source cannot be read.
func (c *Catalog) Reload(ctx context.Context, cfg Config, force bool) (*Catalog, error) {
	fresh, err := Load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if fresh.Fingerprint() != c.Fingerprint() {
		return nil, errors.New("its foods, stocks or prices are not those of the sale")
	}
	if before, after := c.Users(), fresh.Users(); 10*after < 9*before && !force {
		return nil, fmt.Errorf("%w: %d before, %d in %s; complete it, or start with -force-reload",
			ErrFewerUsers, before, after, cfg.Source())
	}
	return fresh, nil
}
