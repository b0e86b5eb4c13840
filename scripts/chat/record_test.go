package main

import (
	"fmt"
	"maps"
	"testing"
)

func said(id int64, text string) *message { return &message{ID: id, User: 3, Content: text} }

// A thread has messages 1 to 5, and Ann's device subscribes at 2. Each row is a way in which a server may
// break its promises; the checks must find it and nothing else.
func TestChecksFindLies(t *testing.T) {
	seen := func(j *journal, ids ...int64) {
		for _, id := range ids {
			j.published(said(id, fmt.Sprint(id)), id)
		}
	}
	for name, row := range map[string]struct {
		do   func(r *record, j *journal)
		want map[string]int // violations
	}{
		"the truth": {func(_ *record, j *journal) { seen(j, 3, 4, 5) }, nil},
		"one lost":  {func(_ *record, j *journal) { seen(j, 3, 5) }, map[string]int{gotOnce: 1}},
		"the last lost": {func(_ *record, j *journal) { seen(j, 3, 4) },
			map[string]int{gotOnce: 1}},
		"one doubled": {func(_ *record, j *journal) { seen(j, 3, 3, 4, 5) }, map[string]int{gotOnce: 1}},
		"two swapped": {func(_ *record, j *journal) { seen(j, 4, 3, 5) },
			map[string]int{gotOnce: 2}}, // 4 is too early, 3 too late
		"another text": {func(_ *record, j *journal) {
			seen(j, 3, 4)
			j.published(said(5, "other"), 5)
		}, map[string]int{storedOnce: 1}},
		"stored twice": {func(r *record, j *journal) {
			seen(j, 3, 4, 5)
			j.published(said(6, "4"), 4)
		}, map[string]int{storedOnce: 1}},
		"acknowledged, not stored": {func(r *record, j *journal) {
			seen(j, 3, 4, 5)
			r.acknowledged(said(6, "6"))
			j.published(said(6, "6"), 6)
		}, map[string]int{storedOnce: 1}},
		"recovered": {func(_ *record, j *journal) {
			seen(j, 3)
			j.subscribed(true, true, 5)
			seen(j, 4, 5)
		}, nil},
		"recovered, but one is missing": {func(_ *record, j *journal) {
			j.subscribed(true, true, 5)
			seen(j, 4, 5)
		}, map[string]int{gotOnce: 1}},
		"not recovered, rightly": {func(_ *record, j *journal) {
			after, _ := j.subscribed(true, false, 5)
			j.caughtUp(after, []message{*said(4, "4"), *said(5, "5")})
		}, nil},
		"not recovered, but nothing is gone": {func(_ *record, j *journal) {
			after, _ := j.subscribed(true, false, 5)
			j.caughtUp(after, []message{*said(3, "3"), *said(4, "4"), *said(5, "5")})
		}, map[string]int{recoverTrue: 1}},
		"a removed member": {func(_ *record, j *journal) {
			seen(j, 3)
			j.left(3)
		}, nil},
		"a removed member who still gets messages": {func(_ *record, j *journal) {
			seen(j, 3)
			j.left(3)
			seen(j, 4)
		}, map[string]int{removedOut: 1}},
		"a closed device": {func(_ *record, j *journal) { j.end() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecord("u3-9", newChecks())
			var stored []message
			for id := int64(1); id <= 5; id++ {
				m := said(id, fmt.Sprint(id))
				r.acknowledged(m)
				stored = append(stored, *m)
			}
			j := &journal{record: r, owner: "Ann"}
			j.subscribed(false, false, 2)
			row.do(r, j)
			r.compare(stored)
			j.judge()
			got := map[string]int{}
			for _, c := range r.checks.list {
				if c.Violations > 0 {
					got[c.Name] = c.Violations
				}
			}
			if !maps.Equal(got, row.want) {
				t.Errorf("violations %v, want %v", got, row.want)
			}
		})
	}
}

// A user who wrote message 3, read up to 4 and joined between 5 and 7 has 2 to 4 unread of 9.
func TestUnread(t *testing.T) {
	r := newRecord("g", newChecks())
	r.acknowledged(said(3, "3"))
	r.saw(&message{ID: 9, User: 4, Content: "9"})
	for _, step := range []struct{ at, want span }{
		{span{}, span{6, 6}}, {span{4, 4}, span{5, 5}}, {span{5, 7}, span{2, 4}},
	} {
		r.readUpTo(3, step.at)
		if got := r.unread(3); got != step.want {
			t.Errorf("after %v: %v unread, want %v", step.at, got, step.want)
		}
	}
}
