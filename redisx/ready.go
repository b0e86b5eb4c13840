package redisx

import (
	"errors"
	"fmt"

	"github.com/mediocregopher/radix/v4/resp"
)

// ErrWritesRefused marks a Redis that holds the sale and answers, but refuses to change anything: its memory
// or its disk is full, or it is a replica. Its own words follow.
var ErrWritesRefused = errors.New("writes are refused")

// Ready reports whether the sale can be served: Redis answers, holds it, and takes writes. It returns what
// is not in the ledger yet. Errors: ErrUnavailable, ErrSaleGone, ErrWritesRefused.
func (s *Sale) Ready() (Backlog, error) {
	var held presence
	var backlog Backlog
	var write verdict
	x := backlog.ask(s.prove(newCall(), &held), streamPrefix+s.id)
	// A write that changes nothing, as there is no such key: no cart has an empty name. Redis judges it as
	// it would judge an order, and knows its memory, disk, role and rights better than what INFO shows of
	// them.
	x.command(&write, "LPUSHX", cartPrefix, "")
	if err := s.do(x); err != nil {
		return Backlog{}, err
	}
	if err := s.observe(held); err != nil {
		return Backlog{}, err
	}
	if write.refused != "" {
		return Backlog{}, fmt.Errorf("%w: %s", ErrWritesRefused, string(write.refused))
	}
	return backlog, nil
}

// verdict receives the reply of a command that Redis may refuse without an error of the call.
type verdict struct{ refused refusal }

func (v *verdict) UnmarshalRESP(br resp.BufferedReader, _ *resp.Opts) error {
	_, refused, broken := readNumber(br, ':')
	errors.As(refused, &v.refused)
	return broken
}
