package threads

import "context"

// Keeper does the work behind the Threads of all processes. A server needs one; the Keepers of one Redis
// share the parts.
type Keeper struct{ *Threads }

// NewKeeper makes a Keeper.
func NewKeeper(cfg Config) (*Keeper, error) { panic("to come") }

// Run works until ctx ends, and returns nil then.
func (k *Keeper) Run(ctx context.Context) error { panic("to come") }
