package presence

import (
	"fmt"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// reading is what one heartbeat asks of one connection: one call, in one message. All heartbeats that want a
// status of it wait until it is over.
type reading struct {
	call  *pipeline.Call // nil: nothing is asked
	mget  []string       // MGET and the keys of users
	users []*status      // the same users

	values                []int64 // of the keys, 0 without a key
	seconds, microseconds int64   // the clock

	over chan struct{}
	err  error // valid once it is over
}

func newReadings(n int) []reading {
	list := make([]reading, n)
	for i := range list {
		list[i].over = make(chan struct{})
	}
	return list
}

// add adds a user.
func (r *reading) add(user uint32, key string) *status {
	if r.mget == nil {
		r.mget = []string{"MGET"}
	}
	added := &status{Status{User: user}, r}
	r.mget, r.users = append(r.mget, key), append(r.users, added)
	return added
}

// send sends the call, with the commands that read the users. The reading is over soon afterwards.
func (r *reading) send(conn *pipeline.Conn) {
	if r.mget != nil {
		if r.call == nil {
			r.call = pipeline.NewCall()
		}
		r.call.Command(&radix.Tuple{&r.seconds, &r.microseconds}, "TIME")
		r.call.Command(&r.values, r.mget...)
	}
	switch {
	case r.call == nil:
		close(r.over)
	case !conn.Send(r.call, r):
		r.call.Free()
		r.end(pipeline.ErrUnavailable)
	}
}

// Complete takes the answer.
func (r *reading) Complete(x *pipeline.Call) {
	_, err := x.Result()
	x.Free()
	if err == nil && len(r.values) != len(r.users) {
		err = fmt.Errorf("%w: %d values for %d keys", pipeline.ErrUnavailable, len(r.values), len(r.users))
	}
	r.end(err)
}

// end lets the statuses be used.
func (r *reading) end(err error) {
	if r.err = err; err == nil {
		now := r.seconds*1000 + r.microseconds/1000
		for i, s := range r.users {
			s.set(r.values[i], now)
		}
	}
	r.mget, r.users, r.values = nil, nil, nil // statuses that are kept keep the reading
	close(r.over)
}

// await returns when the reading is over.
func (r *reading) await() error {
	<-r.over
	return r.err
}

// failed reports whether the reading is over without a result.
func (r *reading) failed() bool {
	select {
	case <-r.over:
		return r.err != nil
	default:
		return false
	}
}
