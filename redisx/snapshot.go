package redisx

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"
)

const (
	firstRetry = 10 * time.Millisecond // the pause after a failed first snapshot

	// changePause delays a snapshot for a change of the state, so that it does not come too early.
	changePause = time.Millisecond
)

// Snapshot describes a sale at one moment.
type Snapshot struct {
	Left      []int64     // pieces of food 1, 2, 3, ...
	Restocked []int64     // pieces added since the opening, less pieces taken back
	Held      []int64     // pieces of held orders, neither left nor sold; nil: orders are final at once
	SoldOut   []time.Time // since when no piece is left; the zero time with pieces, or if it is not known yet
	Orders    int64       // placed so far, without those that were released
	Holds     int64       // orders that are held
	Due       time.Time   // when the next hold ends; the zero time while nothing is held
	Current
	Slices SliceStates
}

// HeldOf returns the pieces of a food, by its index, that are in held orders.
func (s *Snapshot) HeldOf(food int) int64 {
	if s.Held == nil {
		return 0
	}
	return s.Held[food]
}

// SoldOf returns the pieces of a food, by its index, that are neither left nor held. initial is how many
// there were at the opening.
func (s *Snapshot) SoldOf(food int, initial int64) int64 {
	return initial + s.Restocked[food] - s.Left[food] - s.HeldOf(food)
}

// SliceStates are numbers of slices; all are 0 for a sale with one slice.
type SliceStates struct {
	All    int
	Away   int // their Redis does not answer
	Lost   int // their Redis has lost them
	Behind int // they do not have the last change of the state or the times yet

	Skew time.Duration // how far the clocks of their Redis are apart, as far as it is certain
}

// Snapshot takes a snapshot, and makes changes of the state that are due. A slice that does not answer, or
// that is lost, counts as it was before, and as empty if this Sale has not read it within Config.Timeout.
// ErrSaleGone if the home slice does not hold this sale. Slices is there after an error too.
func (s *Sale) Snapshot() (Snapshot, error) {
	readings, errs := askSlices(s, (*slice).look)
	states := s.states(readings, errs)
	if errs[0] != nil {
		return Snapshot{Slices: states}, errs[0]
	}
	for i, err := range errs {
		readings[i] = cmp.Or(readings[i], s.slices[i].last.Load())
		if readings[i] == nil && errors.Is(err, ErrUnavailable) && time.Since(s.joined) < s.cfg.Timeout {
			return Snapshot{Slices: states}, err
		}
		if readings[i] == nil {
			readings[i] = &reading{left: make([]int64, s.foods)}
		}
	}
	if len(s.slices) > 1 {
		s.keepTogether(readings, errs, states.Behind > 0)
	}
	s.cfg.Figures.StockRead.Set(time.Now().UnixNano())
	sum := s.sum(readings)
	sum.Slices = states
	s.noteSoldOut(&sum, readings[0].stock)
	return sum, nil
}

// states counts the slices by what they answered.
func (s *Sale) states(readings []*reading, errs []error) (n SliceStates) {
	if len(s.slices) == 1 {
		return n
	}
	n.All, n.Skew = len(s.slices), s.clocks.skew(sinceStart()).by
	home := cmp.Or(readings[0], s.home().last.Load())
	for i, r := range readings {
		switch {
		case errors.Is(errs[i], ErrSaleGone):
			n.Lost++
		case errs[i] != nil:
			n.Away++
		case home != nil && optional(r.revision) < optional(home.revision):
			n.Behind++
		}
	}
	return n
}

// reading is what a slice holds.
type reading struct {
	current  Current
	stock    map[string]string
	left     []int64
	revision string // of the state and the times; "" without other slices
	holds    int64
	due      []int64 // user and when the hold ends, of the next hold; only with held orders
}

// look reads a slice.
func (x *slice) look() (*reading, error) {
	var r stateReply
	var found presence
	now := &reading{left: make([]int64, x.sale.foods)}
	c := x.prove(x.changeState(&r, Change{}), &found).Command(&now.stock, "HGETALL", x.keys.Stock)
	if len(x.sale.slices) > 1 {
		c.Command(&now.revision, "HGET", x.keys.Marker, "revision")
	}
	if x.sale.cfg.Hold > 0 {
		c.Command(&now.holds, "ZCARD", x.keys.Holds)
		c.Command(&now.due, "ZRANGE", x.keys.Holds, "0", "0", "WITHSCORES")
	}
	sent := sinceStart()
	err := x.read(c, &found)
	if err != nil {
		return nil, err
	}
	if now.current, err = x.current(&r); err != nil {
		return nil, err
	}
	if len(x.sale.conns) > 1 {
		x.sale.clocks.add(x.index, now.current.Now, sent)
	}
	for i := range now.left {
		if now.left[i], err = strconv.ParseInt(now.stock[strconv.Itoa(i+1)], 10, 64); err != nil {
			return nil, x.observe(presence{})
		}
	}
	x.last.Store(now)
	return now, nil
}

// keepTogether lets slices that lag behind follow the home slice, and tells the mover what each slice has.
func (s *Sale) keepTogether(readings []*reading, errs []error, behind bool) {
	if s.mover == nil || s.cfg.Quiet {
		return
	}
	s.clocks.tell(&s.cfg, s.id)
	s.repair(readings, errs)
	left := make([][]int64, len(readings)) // nil for a slice that does not answer
	for i, r := range readings {
		if errs[i] == nil {
			left[i] = slices.Clone(r.left)
		}
	}
	if behind {
		if err := s.reach.follow(); err != nil {
			slog.Warn("a slice does not follow the state of the sale yet", "sale", s.id, "error", err)
		}
	}
	if readings[0].current.State != StateClosed {
		s.mover.saw(left)
	}
}

// repair looks for slices that have come back with older data.
func (s *Sale) repair(readings []*reading, errs []error) {
	stocks := make([]map[string]string, len(readings)) // nil for a slice that does not answer
	for i, r := range readings {
		if errs[i] == nil {
			stocks[i] = r.stock
		}
	}
	for _, p := range forgetful(stocks) {
		if err := s.reach.repair(p.from, p.to); err != nil {
			slog.Warn("a slice that came back with older data is not repaired yet", "sale", s.id, "error", err)
		}
	}
}

// sum is the snapshot of all slices.
func (s *Sale) sum(readings []*reading) Snapshot {
	sum := Snapshot{Left: make([]int64, s.foods), Restocked: make([]int64, s.foods),
		Current: readings[0].current}
	if s.cfg.Hold > 0 {
		sum.Held = make([]int64, s.foods)
	}
	stocks := make([]map[string]string, len(readings))
	for i, r := range readings {
		stocks[i] = r.stock
		for food := range sum.Left {
			sum.Left[food] += r.left[food]
			id := strconv.Itoa(food + 1)
			sum.Restocked[food] += optional(r.stock[restockedPrefix+id])
			if sum.Held != nil {
				sum.Held[food] += optional(r.stock[heldPrefix+id])
			}
		}
		sum.Orders += optional(r.stock[ordersField])
		sum.Holds += r.holds
		if len(r.due) == 2 && (sum.Due.IsZero() || r.due[1] < sum.Due.UnixMilli()) {
			sum.Due = timeOf(r.due[1])
		}
	}
	inFlight(sum.Left, stocks)
	return sum
}

// optional is the number in a field, 0 if the field is missing; only scripts write these fields.
func optional(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Snapshots hands a snapshot to publish at once, then every interval and at each change of the state by the
// clock, until ctx ends. The first waits for the connection for changes too: a server takes requests once it
// has a snapshot. While Redis does not answer, the last snapshot stands; if Redis does not hold the sale,
// gone is called instead. Snapshots also notices, within an interval, that Redis was emptied or that the
// sale is back.
func (s *Sale) Snapshots(
	ctx context.Context, interval time.Duration, publish func(Snapshot), gone func(),
) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	var last Snapshot // published, unless the sale is gone since
	for published := false; ; {
		snapshot, err := s.Snapshot()
		taken := time.Now()
		// Every process takes snapshots at the same moments of the clock, so that all lists change together.
		pause := time.Until(time.Now().Truncate(interval).Add(interval))
		switch {
		case (err != nil || !s.up()) && !published:
			pause = firstRetry // there is no list yet
		case err == nil:
			publish(snapshot)
			last, published = snapshot, true
			if next := snapshot.next(); !next.IsZero() {
				pause = min(pause, next.Sub(snapshot.Now)+changePause-time.Since(taken))
			}
		case errors.Is(err, ErrSaleGone):
			gone()
			last = Snapshot{}
		case last.Left != nil && last.Slices != snapshot.Slices: // the home slice is away
			last.Slices = snapshot.Slices
			publish(last)
		}
		tick.Reset(pause)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// up reports whether changes can be sent to some slice.
func (s *Sale) up() bool {
	return slices.ContainsFunc(s.conns, func(c conn) bool { return c.changes.Up() })
}
