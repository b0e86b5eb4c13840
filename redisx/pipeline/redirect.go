package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/background"
)

// Calls that a node did not carry out because the slot or the master is elsewhere, or is about to be. Such a
// call is not answered: it goes out again until its timeout is over. While it waits no other call is sent,
// so that calls with the same keys stay in their order.

const (
	againMin = 10 * time.Millisecond  // pause before a call goes to the same node again
	againMax = 100 * time.Millisecond // the longest such pause
)

// route is where a call goes after an error reply. Among the replies to a batch, the largest counts.
type route int

const (
	nowhere route = iota // the error is the outcome
	later                // to the same node, after a pause: TRYAGAIN, while a part of the keys has moved
	aside                // to the named node, this once: ASK
	away                 // to the new master: MOVED, or no address with it
)

// redirect is what an error reply tells about the way of a call.
type redirect struct {
	route   route
	slot    int    // -1 if the reply is about none
	address string // "" if the reply does not have it
}

// parseRedirect reads the text of an error reply.
func parseRedirect(text string) redirect {
	kind, rest, _ := strings.Cut(text, " ")
	switch kind {
	case "TRYAGAIN":
		return redirect{route: later, slot: -1}
	case "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING":
		return redirect{route: away, slot: -1}
	case "MOVED", "ASK":
	default:
		return redirect{}
	}
	number, address, _ := strings.Cut(rest, " ")
	slot, err := strconv.ParseUint(number, 10, 14)
	colon := strings.LastIndexByte(address, ':') // an IPv6 address stands there without brackets
	if err != nil || colon < 0 {
		return redirect{}
	}
	r := redirect{route: away, slot: int(slot)}
	if host := address[:colon]; host != "" && host != "?" {
		r.address = net.JoinHostPort(host, address[colon+1:])
	}
	switch {
	case kind == "MOVED":
	case r.address == "":
		r.route = later
	default:
		r.route = aside
	}
	return r
}

func redirectOf(err error) redirect {
	var text refusal
	if !errors.As(err, &text) {
		return redirect{}
	}
	return parseRedirect(string(text))
}

// redirectOf is the way of a call that was answered. A call with a key of another slot has none: the error
// tells what is wrong with it.
func (c *Conn) redirectOf(x *Call) redirect {
	r := redirectOf(x.err)
	if r.slot >= 0 && r.slot != c.cfg.Slot {
		return redirect{}
	}
	return r
}

// relocation ends the use of a connection because the master is elsewhere. The calls wait.
type relocation struct{ address string }

func (r relocation) Error() string { return fmt.Sprintf("the master has moved to %q", r.address) }

// redirected takes those calls out of an answered batch that must be sent again, in their order.
func (c *Conn) redirected(b *batch) (held []*Call, to redirect) {
	if !b.failed || !c.cfg.moves() {
		return nil, redirect{}
	}
	for _, x := range b.calls {
		if r := c.redirectOf(x); r.route > to.route || r.route == to.route && to.address == "" {
			to = r
		}
	}
	if to.route == nowhere {
		return nil, redirect{}
	}
	b.calls = slices.DeleteFunc(b.calls, func(x *Call) bool {
		again := c.redirectOf(x).route != nowhere || to.route == away && x.lostScript()
		if again {
			held = append(held, x)
			x.keepUndone()
		}
		return again
	})
	if to.route == away {
		b.unknownScript = false // those calls are among the held ones
	}
	if n := c.detours.Due(time.Now()); n > 0 {
		slog.Warn("Redis did not carry out calls; they are sent again",
			"redis", c.cfg.Address, "error", held[0].err, "calls", len(held), "times", n)
	}
	return held, to
}

// hold keeps calls that must be sent again, asks for them aside, and waits until they may go out. A
// relocation is the error if that is on another connection.
func (c *Conn) hold(ctx context.Context, held []*Call, to redirect) error {
	if to.route == aside {
		c.ask(held)
		held = c.settle(held)
	}
	c.held = append(held, c.held...)
	switch {
	case to.route == away:
		return relocation{to.address}
	case len(held) > 0:
		background.Pause(ctx, c.nextPause())
	}
	return nil
}

// settle answers the calls that were asked aside and returns those that must be sent again.
func (c *Conn) settle(calls []*Call) (held []*Call) {
	for _, x := range calls {
		if c.redirectOf(x).route == nowhere && !x.lostScript() {
			x.complete(nil)
			continue
		}
		x.keepUndone()
		held = append(held, x)
	}
	return held
}

// nextPause is the pause before calls go to the same node again.
func (c *Conn) nextPause() time.Duration {
	c.pause = min(max(2*c.pause, againMin), againMax)
	return c.pause
}

// refused completes a call that has waited for its whole timeout; false: the call has time left.
func (c *Conn) refused(x *Call, now time.Time) bool {
	if !expired(x.queued, now, c.cfg.Timeout) {
		return false
	}
	if x.err != nil { // it was sent, and not carried out
		x.complete(nil)
		return true
	}
	c.noteOverload()
	x.complete(ErrUnavailable)
	return true
}

// ask sends the calls that were answered ASK to the node that the answer names, over a connection of their
// own. It notes the replies in the calls. Those that could not be sent stay as they are.
func (c *Conn) ask(calls []*Call) {
	b := newBatch(c.opts.Shared)
	var address string
	for _, x := range calls {
		if r := c.redirectOf(x); r.route == aside && (address == "" || address == r.address) {
			address = r.address
			b.add(x)
		}
	}
	deadline := replyDeadline(b.oldest, time.Now(), c.cfg.Timeout)
	node := c.cfg.node(address, min(time.Until(deadline), redialMax))
	l, err := dial(context.Background(), node, c.opts.FieldsMax)
	if err != nil {
		return
	}
	defer l.Close()
	if len(c.opts.Scripts) > 0 && l.Do(loading(c.opts.Scripts), time.Until(deadline)) != nil {
		return
	}
	commands := newBatch(nil)
	for _, x := range b.commands {
		if x.single {
			commands.add(asking())
		} else {
			x.askEach()
		}
		commands.add(x)
	}
	var parts []*batch
	if len(commands.calls) > 0 {
		parts = append(parts, commands)
	}
	for _, g := range b.groups {
		if len(g.calls) > 0 {
			parts = append(parts, newBatch(c.opts.Shared, slices.Insert(g.calls, 0, asking())...))
		}
	}
	for _, part := range parts {
		if err := l.roundTrip(part, deadline); err != nil {
			for _, x := range part.calls {
				x.err = ErrUnavailable
			}
			return
		}
	}
}

// asking makes a call that lets the next command pass at a node that does not have its slot yet.
func asking() *Call { return Command(new(string), "ASKING") }

// askEach puts ASKING before each command of the call. keepUndone takes it away again.
func (x *Call) askEach() {
	args, into := x.args, x.into
	x.args, x.into = nil, nil
	for _, receiver := range into {
		end := commandEnd(args)
		x.Command(new(string), "ASKING")
		x.args, x.into = append(x.args, args[:end]...), append(x.into, receiver)
		args = args[end:]
	}
}

// keepUndone leaves those commands of a redirected call that were not carried out.
func (x *Call) keepUndone() {
	if x.single || x.shared != nil || len(x.undone) == 0 || len(x.undone) == len(x.into) {
		return
	}
	kept, args := x.args[:0], x.args
	for i := range x.into {
		end := commandEnd(args)
		if slices.Contains(x.undone, i) {
			kept = append(kept, args[:end]...)
		}
		args = args[end:]
	}
	for i, command := range x.undone {
		x.into[i] = x.into[command]
	}
	clear(x.into[len(x.undone):])
	x.args, x.into = kept, x.into[:len(x.undone)]
}

// commandEnd returns the length of the first of some encoded commands.
func commandEnd(args []byte) (end int) {
	number := func() (n int) {
		line := bytes.IndexByte(args[end:], '\n')
		n, _ = strconv.Atoi(string(args[end+1 : end+line-1])) // this package has written it
		end += line + 1
		return n
	}
	for range number() {
		length := number()
		end += length + len(lineEnd)
	}
	return end
}
