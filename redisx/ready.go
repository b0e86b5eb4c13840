package redisx

import (
	"errors"
	"fmt"

	"flashsale/redisx/pipeline"
)

// ErrWritesRefused marks a Redis that holds the sale and answers, but refuses to change anything: its memory
// or its disk is full, or it is a replica. The error continues with the text of Redis.
var ErrWritesRefused = errors.New("writes are refused")

// Ready reports whether the sale can be served: Redis answers, holds the sale and takes writes, and the
// connection for changes is up. It returns the orders that are not in the ledger yet. Errors:
// ErrUnavailable, ErrSaleGone, ErrWritesRefused.
func (s *Sale) Ready() (Backlog, error) {
	var held presence
	var backlog Backlog
	var write pipeline.Verdict
	x := backlog.ask(s.prove(pipeline.NewCall(), &held), s.keys.Stream)
	// A write that changes nothing, because no cart has an empty name. Redis judges it like an order, and knows
	// its memory, disk, role and rights better than INFO shows them.
	x.Command(&write, "LPUSHX", cartPrefix, "")
	if err := s.read(x, &held); err != nil {
		return Backlog{}, err
	}
	if !s.changes.Up() {
		return Backlog{}, ErrUnavailable
	}
	if write.Refused != "" {
		return Backlog{}, fmt.Errorf("%w: %s", ErrWritesRefused, write.Refused)
	}
	return backlog, nil
}
