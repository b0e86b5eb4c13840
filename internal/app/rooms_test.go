package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// diary is a list of what rooms did, in that order.
type diary struct{ lines []string }

// room is one that writes when it starts and when it ends, and then ends with err.
func (d *diary) room(name string, err error) room {
	return room{name, func(ctx context.Context) error {
		d.lines = append(d.lines, name+" starts")
		<-ctx.Done()
		d.lines = append(d.lines, name+" ends")
		return err
	}}
}

func TestRoomsStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, late := errors.New("broken"), errors.New("late")
		var d diary
		rooms := newRooms()
		for _, next := range []room{d.room("store", broken), d.room("ledger", nil), d.room("workers", late)} {
			rooms.start(next)
			synctest.Wait()
		}
		err := rooms.stop()
		want := []string{"store starts", "ledger starts", "workers starts", "workers ends", "ledger ends",
			"store ends"}
		if !slices.Equal(d.lines, want) {
			t.Errorf("the rooms did %q, want %q", d.lines, want)
		}
		if !errors.Is(err, broken) || !errors.Is(err, late) {
			t.Errorf("stop returned %v, want both errors", err)
		}
		select {
		case <-rooms.over:
			t.Error("over is closed, and no room has ended by itself")
		default:
		}
	})
}

func TestRoomThatEndsByItself(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		err  error
		want string
	}{{broken, "broken"}, {nil, "clock has ended by itself"}} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			rooms := newRooms()
			rooms.start(d.room("store", nil), room{"clock", func(context.Context) error { return test.err }})
			<-rooms.over
			if err := rooms.stop(); err == nil || err.Error() != test.want {
				t.Errorf("stop returned %v, want %s", err, test.want)
			}
			if d.lines[len(d.lines)-1] != "store ends" {
				t.Errorf("the other room did %q", d.lines)
			}
		})
	}
}
