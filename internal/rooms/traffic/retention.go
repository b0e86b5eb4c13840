package traffic

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DefaultRetention keeps minutes for two days and weeks for ever. Local days of every time zone begin with a
// quarter of an hour, so they are exact for 90 days.
const DefaultRetention = "1m:2d,5m:14d,15m:90d,1d:3y,1w"

// Tier is how long buckets of a step are kept before they are added up into buckets of the next tier.
type Tier struct {
	Step Step
	Keep Span // zero for the last tier, which is kept for ever
}

// ParseRetention reads tiers, the finest first, as "1m:2d,5m:14d,1h". The buckets of a tier make up whole
// buckets of the next tier. Each tier is kept longer than the tier before, the last one for ever.
func ParseRetention(text string) (tiers []Tier, err error) {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		name, keep, ends := strings.Cut(part, ":")
		var tier Tier
		if tier.Step, err = ParseStep(name); err != nil {
			return nil, err
		}
		if last := i == len(parts)-1; ends == last {
			return nil, fmt.Errorf("tier %q: every tier but the last one has a time, as %s", part, DefaultRetention)
		}
		if ends {
			if tier.Keep, err = ParseSpan(keep); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			if err := tier.follows(tiers[i-1]); err != nil {
				return nil, err
			}
		}
		tiers = append(tiers, tier)
	}
	return tiers, nil
}

// follows returns an error if a tier cannot stand behind another tier.
func (t Tier) follows(before Tier) error {
	if !before.Step.within(t.Step) {
		return fmt.Errorf("buckets of %s do not make up whole ones of %s", before.Step, t.Step)
	}
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if t.Keep != (Span{}) && !t.Keep.before(now, time.UTC).Before(before.Keep.before(now, time.UTC)) {
		return fmt.Errorf("tier %s is kept for %s, which is no longer than %s of the one before", t.Step, t.Keep,
			before.Keep)
	}
	return nil
}

// layout is the tiers with their buckets.
type layout struct {
	tiers []Tier
	grids [stepCodes]grid // by step
}

func newLayout(tiers []Tier, zone *time.Location) *layout {
	l := &layout{tiers: tiers}
	for step := range Step(stepCodes) {
		l.grids[step] = newGrid(step, zone)
	}
	return l
}

// frontier returns where the tier begins at a time: the first bucket that is kept, at the start of a block.
func (l *layout) frontier(t Tier, now time.Time) int64 {
	g := l.grids[t.Step]
	return floorDiv(g.number(t.Keep.before(now, g.zone)), blockBuckets) * blockBuckets
}

// next returns the step into which buckets of a step are added up, false if they stay. A step that is in no
// tier, because another retention was set before, has a next step, too.
func (l *layout) next(s Step) (Step, bool) {
	i := slices.IndexFunc(l.tiers, func(t Tier) bool { return t.Step > s })
	if i < 0 {
		return 0, false
	}
	return l.tiers[i].Step, true
}

// cuts reports whether a time lies within a bucket of the tier that has this time, or of a finer tier.
func (l *layout) cuts(t time.Time, f frontiers) bool {
	for _, tier := range l.tiers {
		g := l.grids[tier.Step]
		number := g.number(t)
		if !g.start(number).Equal(t) {
			return true
		}
		if tier.Keep == (Span{}) || number >= f[tier.Step] {
			break
		}
	}
	return false
}

// kept reports whether the step is in a tier.
func (l *layout) kept(s Step) bool {
	return slices.ContainsFunc(l.tiers, func(t Tier) bool { return t.Step == s })
}
