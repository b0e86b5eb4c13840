package presence

import (
	_ "embed" // the script
	"fmt"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

var beatScript = pipeline.NewScript(beatLua)

//go:embed beat.lua
var beatLua string

// The wishes that beat.lua knows, and its results.
const (
	asBefore      = ""
	wishVisible   = "visible"
	wishInvisible = "invisible"

	beatInvisible = 0
	beatVisible   = 1
)

// question is what a heartbeat asks of one connection: one call, in one message.
type question struct {
	call  *pipeline.Call // nil: nothing
	mget  []string       // MGET and the keys of users
	users []*status      // the same users

	values                []int64 // of the keys, 0 without a key
	seconds, microseconds int64   // the clock
}

// beat runs beat.lua for the user and reads the statuses of own, if that is not nil, which it ends.
func (p *Presence) beat(user uint32, wish string, own *reading) (visible bool, err error) {
	var code int64 = -1
	questions := make([]question, len(p.redis.Conns()))
	key, part := userKey(user)
	questions[part%len(questions)].call = beatScript.Call(&code, []string{key}, wish, seconds(keptFor),
		seconds(invisibleFor))
	if own != nil {
		defer func() { p.statuses.end(own, err) }()
		p.cfg.Lookups.Add(uint64(len(own.read)))
		ask(questions, own.read)
	}
	if err := p.send(questions); err != nil {
		return false, err
	}
	for i := range questions {
		if err := questions[i].answered(); err != nil {
			return false, err
		}
	}
	if code != beatVisible && code != beatInvisible {
		return false, pipeline.UnknownCode("beat.lua", code)
	}
	return code == beatVisible, nil
}

// ask adds the keys of users to the questions.
func ask(questions []question, users []status) {
	for i := range users {
		key, part := userKey(users[i].User)
		q := &questions[part%len(questions)]
		if q.mget == nil {
			q.mget = []string{"MGET"}
		}
		q.mget, q.users = append(q.mget, key), append(q.users, &users[i])
	}
	for i := range questions {
		q := &questions[i]
		if q.mget == nil {
			continue
		}
		if q.call == nil {
			q.call = pipeline.NewCall()
		}
		q.call.Command(&radix.Tuple{&q.seconds, &q.microseconds}, "TIME")
		q.call.Command(&q.values, q.mget...)
	}
}

// answered sets the statuses by the answer.
func (q *question) answered() error {
	if len(q.values) != len(q.users) {
		return fmt.Errorf("%w: %d values for %d keys", pipeline.ErrUnavailable, len(q.values), len(q.users))
	}
	now := q.seconds*1000 + q.microseconds/1000
	for i, s := range q.users {
		s.set(q.values[i], now)
	}
	return nil
}

// outcomes gets the outcome of each call of some questions.
type outcomes chan error

// Complete takes an outcome. It does not wait: the channel has room for all.
func (o outcomes) Complete(x *pipeline.Call) {
	_, err := x.Result()
	x.Free()
	o <- err
}

// send sends all calls and then awaits them.
func (p *Presence) send(questions []question) (err error) {
	done := make(outcomes, len(questions))
	sent := 0
	for i, conn := range p.redis.Conns() {
		x := questions[i].call
		switch {
		case x == nil:
		case conn.Send(x, done):
			sent++
		default:
			x.Free()
			err = pipeline.ErrUnavailable
		}
	}
	for range sent {
		if failed := <-done; failed != nil {
			err = failed
		}
	}
	return err
}
