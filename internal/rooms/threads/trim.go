package threads

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
	"golang.org/x/sync/errgroup"

	"flashsale/redisx/pipeline"
)

const (
	trimThreads  = 16  // of a part, in one step
	trimMessages = 500 // of each
)

// tidy trims some threads of the parts that the keeper has. It returns the pause before the next step.
func (w *ward) tidy() (pause time.Duration, err error) {
	leases, err := w.due()
	if err != nil {
		return 0, err
	}
	var all errgroup.Group // an archive is quicker for several at once
	for _, l := range leases {
		all.Go(func() error { return w.trimAll(l) })
	}
	if err := all.Wait(); err != nil || len(leases) > 0 {
		return 0, err
	}
	return leaseLook, nil
}

// due are the parts that the keeper has and that have threads to trim.
func (w *ward) due() ([]lease, error) {
	leases, err := w.lease(w.parts, &Positions{})
	return slices.DeleteFunc(leases, func(l lease) bool { return !l.held || len(l.due) == 0 }), err
}

// trimAll trims the threads of a part that are due.
func (k *Keeper) trimAll(l lease) (err error) {
	for _, thread := range l.due {
		if thread, created, ended := strings.Cut(thread, " "); ended {
			err = k.forget(l.part, thread, created)
		} else {
			err = k.trim(l.part, thread, l.now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget removes what the archive has of a thread that has ended.
func (k *Keeper) forget(part int, thread, created string) error {
	if k.cfg.Archive != nil {
		if err := k.cfg.Archive.Forget(thread, epoch(milli(created))); err != nil {
			return err
		}
	}
	return k.do(part, pipeline.Command(new(int64), "ZREM", partKey(part, "trim"), thread+" "+created))
}

// trim takes messages of a thread out of Redis that are too old or too many. The archive has them before.
// Messages that are erased meanwhile are stored again: the archive may have got their content.
func (k *Keeper) trim(part int, thread string, now time.Time) error {
	var fields []string
	var found []radix.StreamEntry
	x := pipeline.Command(&fields, "HMGET", threadKey(thread), "last", "first", "created", "erased")
	x.Command(&found, "XRANGE", threadKey(thread)+":messages", "-", "+", "COUNT", strconv.Itoa(trimMessages))
	if err := k.do(part, x); err != nil {
		return err
	}
	last, first := number(fields[0]), number(fields[1])
	var messages []string // as read.lua returns them
	upto := last - int64(k.cfg.MessagesMax)
	if len(found) == trimMessages {
		upto = min(upto, int64(found[len(found)-1].ID.Time))
	}
	allOld := len(found) < trimMessages // then what was erased after them goes too
	for _, entry := range found {
		id := int64(entry.ID.Time)
		text := strconv.FormatInt(id, 10)
		head, content := entry.Fields[0][1], entry.Fields[1][1]
		if id > upto {
			if now.Sub(messageOf(thread, text, head, content).Created) < k.cfg.AgeMax {
				allOld = false
				break
			}
			upto = id
		}
		messages = append(messages, text, head, content)
	}
	if allOld {
		upto = last
	}
	erased := ""
	if k.cfg.Archive != nil {
		erased = cmp.Or(fields[3], "0")
		list := entriesOf(thread, messages, first, upto)
		if len(list) > 0 {
			if err := k.cfg.Archive.Store(thread, epoch(milli(fields[2])), list); err != nil {
				return err
			}
		}
	}
	return k.do(part, trimScript.Call(new(int64), keysOf(thread, "", "messages", "trim"), thread,
		strconv.FormatInt(max(upto, 0), 10), strconv.Itoa(k.cfg.MessagesMax),
		strconv.FormatInt(k.cfg.AgeMax.Milliseconds(), 10), fields[2], erased))
}
