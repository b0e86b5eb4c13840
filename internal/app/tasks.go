package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A task runs in the background of a process. run works until its context ends, finishes what it has begun
// and returns. When run returns earlier, with or without an error, the whole process stops.
type task struct {
	name string
	run  func(context.Context) error
}

// tasks are the tasks of one process in the order of their start. They stop one by one, the last first, so a
// task may use the tasks that were started before it until it ends.
type tasks struct {
	running []running
	over    chan struct{} // closed when a task has ended by itself
	once    sync.Once
}

type running struct {
	task
	cancel context.CancelFunc
	result chan error
}

func newTasks() *tasks { return &tasks{over: make(chan struct{})} }

// start starts more tasks. No signal ends them, only stop.
func (t *tasks) start(list ...task) {
	for _, next := range list {
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			err := next.run(ctx)
			if early := ctx.Err() == nil; early {
				if err == nil {
					err = fmt.Errorf("%s has ended by itself", next.name)
				}
				t.once.Do(func() { close(t.over) })
			}
			result <- err
		}()
		t.running = append(t.running, running{next, cancel, result})
	}
}

// stop ends all tasks and returns their errors, including the error of a task that has ended by itself.
func (t *tasks) stop() (err error) {
	for len(t.running) > 0 {
		last := t.running[len(t.running)-1]
		t.running = t.running[:len(t.running)-1]
		last.cancel()
		err = errors.Join(err, <-last.result)
	}
	return err
}
