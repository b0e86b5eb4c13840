package redisx

import (
	"cmp"
	"errors"
	"fmt"

	"flashsale/redisx/pipeline"
)

// ErrWritesRefused marks a Redis that holds the sale and answers, but refuses to change anything: its memory
// or its disk is full, or it is a replica. The error continues with the text of Redis.
var ErrWritesRefused = errors.New("writes are refused")

// Ready reports whether the sale can be served: Redis answers, holds the sale and takes writes, and the
// connection for changes is up. With several slices one is enough: the others fail alone. It returns the
// orders that are not in the ledger yet. Errors: ErrUnavailable, ErrSaleGone, ErrWritesRefused.
func (s *Sale) Ready() (all Backlog, err error) {
	ready := false
	for i := range s.slices {
		backlog, refused := s.slices[i].ready()
		if refused != nil {
			err = cmp.Or(err, refused)
			continue
		}
		ready = true
		all.add(backlog)
	}
	if ready {
		return all, nil
	}
	return Backlog{}, err
}

func (x *slice) ready() (backlog Backlog, err error) {
	var held presence
	var write pipeline.Verdict
	c := backlog.ask(x.prove(pipeline.NewCall(), &held), x.keys.Stream)
	// A write that changes nothing, because no cart has an empty name. Redis judges it like an order, and knows
	// its memory, disk, role and rights better than INFO shows them.
	c.Command(&write, "LPUSHX", cartPrefix+x.keys.Tag, "")
	if err := x.read(c, &held); err != nil {
		return Backlog{}, err
	}
	if !x.changes.Up() {
		return Backlog{}, ErrUnavailable
	}
	if write.Refused != "" {
		return Backlog{}, fmt.Errorf("%w: %s", ErrWritesRefused, write.Refused)
	}
	return backlog, nil
}
