package threads

import (
	"fmt"
	"testing"

	"flashsale/internal/testkit/roomtest"
)

func TestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		r, k := open(t, cfg), keeper(t, cfg)
		th, err := r.Start(3, Start{Participants: []uint32{9}})
		fmt.Printf("%+v %v\n", th, err)
		m, err := r.Post(th.ID, 3, "a", "hello")
		fmt.Printf("%+v %v\n", m, err)
		m, err = r.Post(th.ID, 3, "a", "hello")
		fmt.Printf("%+v %v\n", m, err)
		g, err := r.Start(3, Start{Participants: []uint32{9, 10}})
		fmt.Printf("%+v %v\n", g, err)
		k.drain(t)
		l, err := r.List(9, Page{})
		fmt.Printf("%+v %v\n", l, err)
		ms, last, err := r.Messages(th.ID, 9, Page{})
		fmt.Printf("%+v %v %v\n", ms, last, err)
		is(t, r.Remove(g.ID, 3, 3), nil)
		is(t, r.Add(g.ID, 3, 3, Owner), ErrNotMember)
		room, err := r.ShowRoom("now")
		fmt.Printf("%+v %v\n", room, err)
	})
}
