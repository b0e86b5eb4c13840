package push

import (
	"cmp"
	"context"
	_ "embed" // the scripts
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"
	"golang.org/x/sync/errgroup"

	"flashsale/internal/background"
	"flashsale/internal/webhook"
	"flashsale/redisx/pipeline"
)

const (
	leaseLife   = 10 * time.Second
	leaseEvery  = 3 * time.Second
	judgedMost  = 100    // lines of a log at a time
	waitingMost = 10_000 // lines of a log that wait here; then the log waits
	postsMost   = 16     // at once
	postEvery   = time.Second
	beginAgain  = 50 * time.Millisecond // between two tries to note where to begin
	postRetry   = time.Second           // after a failure, then twice as long each time
	postPause   = 5 * time.Minute
)

// judgeAfter is how long after a message was stored its readers are looked up: a server that dies with the
// message counts as dead by then, and whoever comes back at once is not disturbed.
var judgeAfter = beatLimit + 2*beatEvery

// queueMost is how many messages of a part wait for the hook; then the oldest go.
var queueMost = 10_000

//go:embed notice.lua
var noticeLua string

var noticeScript = pipeline.NewScript(noticeLua)

// scripts are all scripts of the room.
var scripts = []*pipeline.Script{beatScript, pipeline.LeaseScript, noticeScript}

// offline calls the hook for each message to a user who is not connected, at least once: the log of the
// threads and a position in it for each part say what is left to do, whatever process ends. One server at a
// time does this for all.
type offline struct {
	*Server
	redis *pipeline.Spread
	hook  *webhook.Hook
	lines [pipeline.Parts]chan line // of the logs
	wake  chan struct{}             // for the poster
}

// line is a line of a log and when it is judged.
type line struct {
	Entry
	due time.Time
}

// notice is an entry of the queue.
type notice struct {
	Thread  string          `json:"thread_id"`
	Message json.RawMessage `json:"message"`
	Users   []uint32        `json:"users"` // who were not connected
}

func newOffline(s *Server) (*offline, error) {
	h, err := webhook.New(s.cfg.OfflineURL, true, s.cfg.OfflineSecret)
	if err != nil {
		return nil, err
	}
	return &offline{Server: s, redis: s.registry.redis, hook: h, wake: make(chan struct{}, 1)}, nil
}

// run does the work whenever this server has the lease. The hook gets what comes from the first start on,
// also while no server has the lease yet.
func (o *offline) run(ctx context.Context) error {
	for {
		if _, err := o.positions(); err == nil || !background.Pause(ctx, beginAgain) {
			break
		}
	}
	for ctx.Err() == nil {
		if o.lease() {
			o.hold(ctx)
		} else {
			background.Pause(ctx, leaseEvery)
		}
	}
	return nil
}

// lease takes or keeps the lease.
func (o *offline) lease() bool {
	has, err := o.redis.Part(0).Lease(partKey(0, "hook"), o.id, leaseLife)
	return err == nil && has
}

// hold works until the lease is lost or ctx ends.
func (o *offline) hold(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		background.Every(ctx, leaseEvery, func() {
			if !o.lease() {
				stop()
			}
		})
		return nil
	})
	group.Go(func() error { return o.read(ctx) })
	group.Go(func() error {
		o.post(ctx)
		return nil
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		slog.Warn("messages to users who are not connected wait", "error", err)
	}
	background.Pause(ctx, leaseEvery)
}

// read reads the logs from where the last holder of the lease stopped.
func (o *offline) read(ctx context.Context) error {
	from, err := o.positions()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for part := range o.lines {
		o.lines[part] = make(chan line, waitingMost)
		group.Go(func() error { return o.judge(ctx, part, from[part]) })
	}
	group.Go(func() error {
		return o.cfg.Threads.Tail(ctx, from, func(e Entry) {
			select {
			case o.lines[e.Part] <- line{e, o.cfg.Now().Add(judgeAfter)}:
			case <-ctx.Done():
			}
		})
	})
	return group.Wait()
}

// positions returns where to begin: for the first time with what comes now.
func (o *offline) positions() (from Positions, err error) {
	if from, err = o.cfg.Threads.Now(); err != nil {
		return from, err
	}
	for part := range from {
		var seen *string
		x := pipeline.Command(nil, "SET", partKey(part, "seen"), strconv.FormatInt(from[part], 10), "NX")
		x.Command(&seen, "GET", partKey(part, "seen"))
		if err := o.redis.Part(part).Do(x); err != nil {
			return from, err
		}
		if seen == nil {
			return from, errors.New("a position is missing")
		}
		if from[part], err = strconv.ParseInt(*seen, 10, 64); err != nil {
			return from, err
		}
	}
	return from, nil
}

// judge finds the messages of a part to users who are not connected.
func (o *offline) judge(ctx context.Context, part int, from int64) error {
	for {
		var lines []line
		select {
		case first := <-o.lines[part]:
			lines = append(lines, first)
		case <-ctx.Done():
			return nil
		}
		if !background.Pause(ctx, lines[0].due.Sub(o.cfg.Now())) {
			return nil
		}
		for len(lines) < judgedMost && len(o.lines[part]) > 0 {
			lines = append(lines, <-o.lines[part]) // it came at the same time, or the hook is behind
			if !background.Pause(ctx, lines[len(lines)-1].due.Sub(o.cfg.Now())) {
				return nil
			}
		}
		to, err := o.enqueue(part, from, lines)
		if err != nil {
			return err
		}
		from = to
	}
}

// enqueue puts the messages of some lines into the queue, and moves the position.
func (o *offline) enqueue(part int, from int64, lines []line) (to int64, err error) {
	to = lines[len(lines)-1].Position
	args := []string{strconv.FormatInt(from, 10), strconv.FormatInt(to, 10), strconv.Itoa(queueMost)}
	for _, l := range lines {
		if l.What == Missed {
			o.cfg.Figures.PushHooksLost.Inc() // of an unknown number
			slog.Warn("lines of the log are gone before the hook saw them", "part", part)
		}
		if l.What != Stored || l.Large || isRoom(l.Thread) {
			continue
		}
		users, err := o.absent(&l.Message)
		if err != nil {
			return from, err
		}
		if len(users) == 0 {
			continue
		}
		text, err := json.Marshal(notice{l.Thread, encodeMessage(&l.Message), users})
		if err != nil {
			return from, err
		}
		args = append(args, string(text))
	}
	var lost int64
	x := noticeScript.Call(&lost, []string{partKey(part, "seen"), partKey(part, "offline")}, args...)
	if err := o.redis.Part(part).Do(x); err != nil {
		return from, err
	}
	if lost < 0 {
		return from, errors.New("another server works on them")
	}
	if lost > 0 {
		o.cfg.Figures.PushHooksLost.Add(uint64(lost))
		slog.Warn("the hook is too far behind: messages to users who are not connected are dropped",
			"messages", lost)
	}
	if len(args) > 3 {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return to, nil
}

// absent returns the members who are not connected and have not muted the thread.
func (o *offline) absent(m *Message) (list []uint32, err error) {
	members, err := o.cfg.Threads.Members(m.Thread)
	if err != nil {
		return nil, err
	}
	var users []uint32
	for user, muted := range members {
		if user != m.User && !muted {
			users = append(users, user)
		}
	}
	online, err := o.registry.online(users)
	if err != nil {
		return nil, err
	}
	for _, user := range users {
		if !online[user] {
			list = append(list, user)
		}
	}
	return list, nil
}

// post posts the queues until ctx ends.
func (o *offline) post(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		var failed error
		for part := range pipeline.Parts {
			failed = cmp.Or(o.postPart(ctx, part), failed)
		}
		pause, wake := postEvery, o.wake
		if failures++; failed == nil {
			failures = 0
		} else if wake = nil; ctx.Err() == nil { // not before the pause
			pause = background.Delay(failures, postRetry, postPause)
			slog.Warn("messages to users who are not connected wait", "error", failed, "pause", pause)
		}
		select {
		case <-wake:
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// postPart posts what waits of a part, and takes away what was taken.
func (o *offline) postPart(ctx context.Context, part int) error {
	for {
		waiting, err := o.waiting(part)
		if err != nil || len(waiting) == 0 {
			return err
		}
		group := errgroup.Group{}
		for _, w := range waiting {
			group.Go(func() error { return o.postOne(ctx, part, w) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

// queued is an entry of a queue.
type queued struct {
	id   string
	text []byte
}

// waiting returns the oldest entries of a queue.
func (o *offline) waiting(part int) (list []queued, err error) {
	var found []radix.StreamEntry
	x := pipeline.Command(&found, "XRANGE", partKey(part, "offline"), "-", "+", "COUNT",
		strconv.Itoa(postsMost))
	if err := o.redis.Part(part).Do(x); err != nil {
		return nil, err
	}
	for _, e := range found {
		list = append(list, queued{e.ID.String(), []byte(e.Fields[0][1])})
	}
	return list, nil
}

// postOne posts an entry. It takes away what the hook took or refuses for good.
func (o *offline) postOne(ctx context.Context, part int, q queued) error {
	body := append(append([]byte(`{"type":"message.offline","data":`), q.text...), '}')
	var refused webhook.Refused
	err := o.hook.Post(ctx, "msg_"+strconv.Itoa(part)+"-"+q.id, o.cfg.Now(), body)
	switch {
	case errors.As(err, &refused) && refused.Final():
		o.cfg.Figures.PushHooksLost.Inc()
		slog.Warn("the hook for users who are not connected refuses a message", "status", refused.Status)
	case err != nil:
		return err
	default:
		o.cfg.Figures.PushHooks.Inc()
	}
	return o.redis.Part(part).Do(pipeline.Command(nil, "XDEL", partKey(part, "offline"), q.id))
}
