package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// diary is a list of what tasks did, in that order.
type diary struct{ lines []string }

// task is one that writes when it starts and when it ends, and then ends with err.
func (d *diary) task(name string, err error) task {
	return task{name, func(ctx context.Context) error {
		d.lines = append(d.lines, name+" starts")
		<-ctx.Done()
		d.lines = append(d.lines, name+" ends")
		return err
	}}
}

func TestTasksStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, late := errors.New("broken"), errors.New("late")
		var d diary
		tasks := newTasks()
		for _, next := range []task{d.task("store", broken), d.task("ledger", nil), d.task("workers", late)} {
			tasks.start(next)
			synctest.Wait()
		}
		err := tasks.stop()
		want := []string{"store starts", "ledger starts", "workers starts", "workers ends", "ledger ends",
			"store ends"}
		if !slices.Equal(d.lines, want) {
			t.Errorf("the tasks did %q, want %q", d.lines, want)
		}
		if !errors.Is(err, broken) || !errors.Is(err, late) {
			t.Errorf("stop returned %v, want both errors", err)
		}
		select {
		case <-tasks.over:
			t.Error("over is closed, and no task has ended by itself")
		default:
		}
	})
}

func TestTaskThatEndsByItself(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		err  error
		want string
	}{{broken, "broken"}, {nil, "clock has ended by itself"}} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			tasks := newTasks()
			tasks.start(d.task("store", nil), task{"clock", func(context.Context) error { return test.err }})
			<-tasks.over
			if err := tasks.stop(); err == nil || err.Error() != test.want {
				t.Errorf("stop returned %v, want %s", err, test.want)
			}
			if d.lines[len(d.lines)-1] != "store ends" {
				t.Errorf("the other task did %q", d.lines)
			}
		})
	}
}
