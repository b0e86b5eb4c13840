package redisx

import (
	"context"
	"errors"
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
	Left      []int64 // pieces of food 1, 2, 3, ...
	Restocked []int64 // pieces added since the opening, less pieces taken back
	Orders    int64   // placed so far
	Current
}

// Snapshot takes a snapshot, and makes changes of the state that are due. ErrSaleGone if Redis does not hold
// this sale.
func (s *Sale) Snapshot() (Snapshot, error) {
	var r stateReply
	var found presence
	var fields map[string]string
	x := s.prove(s.changeState(&r, Change{}), &found).Command(&fields, "HGETALL", s.keys.Stock)
	if err := s.read(x, &found); err != nil {
		return Snapshot{}, err
	}
	current, err := s.current(&r)
	if err != nil {
		return Snapshot{}, err
	}
	snapshot := Snapshot{Left: make([]int64, s.foods), Restocked: make([]int64, s.foods), Current: current}
	for i := range snapshot.Left {
		food := strconv.Itoa(i + 1)
		if snapshot.Left[i], err = strconv.ParseInt(fields[food], 10, 64); err != nil {
			return Snapshot{}, s.observe(presence{})
		}
		snapshot.Restocked[i] = optional(fields[restockedPrefix+food])
	}
	snapshot.Orders = optional(fields[ordersField])
	s.cfg.Figures.StockRead.Set(time.Now().UnixNano())
	return snapshot, nil
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
	for published := false; ; {
		snapshot, err := s.Snapshot()
		taken := time.Now()
		// Every process takes snapshots at the same moments of the clock, so that all lists change together.
		pause := time.Until(time.Now().Truncate(interval).Add(interval))
		switch {
		case (err != nil || !s.changes.Up()) && !published:
			pause = firstRetry // there is no list yet
		case err == nil:
			publish(snapshot)
			published = true
			if next := snapshot.next(); !next.IsZero() {
				pause = min(pause, next.Sub(snapshot.Now)+changePause-time.Since(taken))
			}
		case errors.Is(err, ErrSaleGone):
			gone()
		}
		tick.Reset(pause)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
