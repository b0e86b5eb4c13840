package main

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
)

const (
	pairsMax   = 1000
	longRounds = 4  // turns of each drill with -long
	longPairs  = 50 // pairs with -long and without -pairs
	slackMax   = 100
)

// options is the command line.
type options struct {
	only   []drill // empty = all
	seed   uint64
	long   bool
	valkey bool
	list   bool
	pairs  int
	holds  int // held orders of the drill holds
	slack  int // each promised time is that many times as long
}

// turn is one run of a drill.
type turn struct {
	drill drill
	seed  uint64
}

// dice make the random choices of a turn: the same for the same drill and seed, whatever else runs.
func (t turn) dice() *rand.Rand {
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.drill.name)) // a hash never fails
	return rand.New(rand.NewPCG(t.seed, name.Sum64()))
}

const usage = `drill makes the faults that a sale must survive, each on a real stack under load, and audits.

  go run ./scripts/drill                              every drill once
  go run ./scripts/drill -only redis-killed -seed 7   that one again, as it was
  go run ./scripts/drill -only slow-redis+worker-killed   two faults at once
  go run ./scripts/drill -long                        the long form, about two hours

`

// parseOptions reads the flags. After -h it writes the usage to out and returns flag.ErrHelp; any other
// error is an errUsage.
func parseOptions(args []string, out io.Writer) (options, error) {
	var opt options
	var only string
	fs := flag.NewFlagSet("drill", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&only, "only", "", "run these drills, `name[,name...]`; name+name is a pair")
	fs.Uint64Var(&opt.seed, "seed", 0, "seed of every random choice; 0 = a random one, which is printed")
	fs.BoolVar(&opt.long, "long", false,
		fmt.Sprintf("every drill %d times with more and longer faults, then %d pairs", longRounds, longPairs))
	fs.BoolVar(&opt.valkey, "valkey", false, "the nodes of a cluster are valkey-server, or what VALKEY names")
	fs.IntVar(&opt.pairs, "pairs", 0, "then make this `number` of pairs of faults at once, chosen by the seed")
	fs.IntVar(&opt.slack, "slack", 1, "each promised time is this `number` of times as long: for a machine "+
		"that has other work")
	fs.IntVar(&opt.holds, "holds", heldFew, "`number` of held orders of the drill holds")
	fs.BoolVar(&opt.list, "list", false, "list the drills and do nothing")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		fs.SetOutput(out)
		fs.PrintDefaults()
		return opt, flag.ErrHelp
	} else if err != nil {
		return opt, fmt.Errorf("%w: %w (-h lists all flags)", errUsage, err)
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("%w: %q is not a flag (-h lists all flags)", errUsage, fs.Arg(0))
	}
	if opt.pairs < 0 || opt.pairs > pairsMax {
		return opt, fmt.Errorf("%w: -pairs %d is not within 0 to %d", errUsage, opt.pairs, pairsMax)
	}
	if opt.holds < 1 || opt.holds > heldMax {
		return opt, fmt.Errorf("%w: -holds %d is not within 1 to %d", errUsage, opt.holds, heldMax)
	}
	if opt.slack < 1 || opt.slack > slackMax {
		return opt, fmt.Errorf("%w: -slack %d is not within 1 to %d", errUsage, opt.slack, slackMax)
	}
	for opt.seed == 0 {
		opt.seed = rand.Uint64() >> 32 // short enough to type
	}
	if only == "" {
		if opt.long && opt.pairs == 0 {
			opt.pairs = longPairs
		}
		return opt, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		d, err := findDrill(name)
		if err != nil {
			return opt, err
		}
		opt.only = append(opt.only, d)
	}
	return opt, nil
}

// findDrill finds a drill, or makes the pair, of this name.
func findDrill(name string) (drill, error) {
	first, second, paired := strings.Cut(name, "+")
	var found []drill
	for _, d := range drills {
		if d.name == first || paired && d.name == second {
			found = append(found, d)
		}
	}
	switch {
	case !paired && len(found) == 1:
		return found[0], nil
	case paired && len(found) == 2 && found[0].goesWith(found[1]):
		return pair(found[0], found[1]), nil
	case paired && len(found) == 2:
		return drill{}, fmt.Errorf("%w: -only %q: these two cannot be made at once (-list marks such drills)",
			errUsage, name)
	}
	return drill{}, fmt.Errorf("%w: -only %q is no drill (-list lists all)", errUsage, name)
}

// turns are the runs that the options ask for, in order.
func (o *options) turns() []turn {
	rounds := uint64(1)
	if o.long {
		rounds = longRounds
	}
	chosen := o.only
	if len(chosen) == 0 && o.pairs == 0 || o.long && len(chosen) == 0 {
		chosen = drills
	}
	var turns []turn
	for round := range rounds {
		for _, d := range chosen {
			turns = append(turns, turn{d, o.seed + round})
		}
	}
	for _, d := range choosePairs(o.pairs, o.seed) {
		turns = append(turns, turn{d, o.seed})
	}
	return turns
}

// choosePairs picks n pairs by the seed. A pair comes again only after all pairs have run.
func choosePairs(n int, seed uint64) []drill {
	var all []drill
	for i, a := range drills {
		for _, b := range drills[i+1:] {
			if a.goesWith(b) {
				all = append(all, pair(a, b))
			}
		}
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var chosen []drill
	for i := range n {
		chosen = append(chosen, all[i%len(all)])
	}
	return chosen
}

func listDrills(out io.Writer) {
	for _, d := range drills {
		alone := ""
		if d.alone() {
			alone = " (not in pairs)"
		}
		fmt.Fprintf(out, "%-22s %s%s\n", d.name, d.says, alone)
	}
}
