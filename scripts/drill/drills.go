package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/internal/background"
)

// drill is a fault or an attack, and what buyers may notice of it. run makes the fault while buyers order
// and returns when the fault has ended: from then on service must resume by itself.
type drill struct {
	name, says string
	alert      string // of scripts/grafana that must fire, and clear after the fault
	quiet      string // why there is no alert
	setup      setup
	noticed    effects
	run        fault
}

// fault makes a drill's fault.
type fault func(context.Context, *stack, *rand.Rand) error

// effects are what buyers may notice of a drill. Where they may notice nothing, no answer may be a 5xx and
// no connection may be lost.
type effects int

const (
	may503  effects = 1 << iota // requests may be answered 503 meanwhile
	must503                     // some must be: otherwise there was no fault, and the drill proves nothing
	mayDrop                     // connections may be lost: the drill kills a process that holds them
	mayHang                     // buyers may wait long: a server, or the load itself, is frozen
)

// may reports whether buyers may notice any of these effects.
func (e effects) may(any effects) bool { return e&any != 0 }

var (
	one      = setup{servers: 1}
	ownStore = setup{servers: 1, own: true}
	network  = setup{servers: 1, proxied: true}
	// A slow disk must not decide about an attack, and a p99 needs many answers of other buyers.
	crowded = setup{servers: 1, probes: 4, everysec: true}
)

const noFault = "nothing is broken"

// drills are all drills, in the order in which they run. Each table stands beside its faults.
var drills = slices.Concat(processDrills, dataDrills, stateDrills, holdDrills, paymentDrills, attackDrills,
	clusterDrills, chatDrills)

// healthy reports whether a drill breaks nothing: it only makes requests.
func (d *drill) healthy() bool { return d.quiet == noFault }

// times and lasting tell how often and how long, in the short and in the long form.
func (s *stack) times(short, long int) int {
	if s.long {
		return long
	}
	return short
}

func (s *stack) lasting(short, long time.Duration) time.Duration {
	if s.long {
		return long
	}
	return short
}

// alone reports whether a drill is in no pair: it needs a stack that other drills do not work on.
func (d *drill) alone() bool { return d.setup != d.setup.merge(setup{}) }

// goesWith reports whether two faults can be made at once, on one stack.
func (d *drill) goesWith(other drill) bool {
	return !d.alone() && !other.alone() && d.name != other.name
}

// pair makes two faults at once: the second begins while the first goes on, or soon after.
func pair(a, b drill) drill {
	return drill{
		name: a.name + "+" + b.name, quiet: "one fault may hide the other",
		says: a.says + "; meanwhile: " + b.says, setup: a.setup.merge(b.setup),
		noticed: a.noticed | b.noticed | may503,
		run: func(ctx context.Context, s *stack, dice *rand.Rand) error {
			s.paired = true
			first, second := rand.New(rand.NewPCG(dice.Uint64(), 1)), rand.New(rand.NewPCG(dice.Uint64(), 2))
			later := moment(dice, 2*time.Second)
			ended := make(chan error, 1)
			go func() { ended <- a.run(ctx, s, first) }()
			background.Pause(ctx, later)
			err := b.run(ctx, s, second)
			return errors.Join(err, <-ended)
		},
	}
}
