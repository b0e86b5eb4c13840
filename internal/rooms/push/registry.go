package push

import (
	"context"
	_ "embed" // the script
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	beatEvery   = time.Second
	beatLimit   = 4 * time.Second // a server without a sign of life is dead then
	noteRetry   = 200 * time.Millisecond
	notesBatch  = 500
	onTTL       = 30 * time.Minute
	onAgain     = 10 * time.Minute
	removedTTL  = 24 * time.Hour
	hereTTL     = time.Minute
	hereAgain   = 20 * time.Second
	hereListMax = 100 // clients of one server
)

//go:embed beat.lua
var beatLua string

var beatScript = pipeline.NewScript(beatLua)

// registry is what the servers know of each other: who lives, which user is connected to which server, and
// how far each server is with removed members. A user counts as connected from some milliseconds after the
// connection on; without a server from beatLimit after its death on.
type registry struct {
	*Server
	redis *pipeline.Spread
	wake  chan struct{}

	mu       sync.Mutex
	alive    []string
	users    map[uint32]bool       // to write: whether the user is connected here
	removed  [pipeline.Parts]int64 // to write: positions; 0 for none
	at, told Positions             // in the logs: where this server is, and what the others know
	here     map[string]struct{}   // threads with a new number of subscribers, to write
}

func newRegistry(s *Server) *registry {
	outage := pipeline.Options{Scripts: scripts}
	return &registry{Server: s, redis: pipeline.NewSpread(s.cfg.Redis, outage), wake: make(chan struct{}, 1),
		users: map[uint32]bool{}, here: map[string]struct{}{}}
}

// run keeps the registry until ctx ends.
func (r *registry) run(ctx context.Context) error {
	background.Beside(r.redis.Run, func() {
		var work sync.WaitGroup
		work.Go(func() { background.Every(ctx, beatEvery, r.beat) })
		work.Go(func() { background.Every(ctx, onAgain, r.again) })
		work.Go(func() { background.Every(ctx, hereAgain, r.hereAgain) })
		work.Go(func() { r.write(ctx) })
		work.Wait()
	})
	return nil
}

// beat gives a sign of life, learns who else lives, and tells how far this server is.
func (r *registry) beat() {
	r.note(func() {
		for part := range r.at {
			if r.at[part] > r.told[part] {
				r.told[part] = r.at[part]
				r.removed[part] = r.at[part]
			}
		}
	})
	if alive, err := beat(r.redis, r.id); err == nil {
		r.mu.Lock()
		r.alive = alive
		r.mu.Unlock()
	}
}

// beat returns the servers that live; id is that of this server, or "" to ask only.
func beat(redis *pipeline.Spread, id string) (alive []string, err error) {
	x := beatScript.Call(&alive, []string{partKey(0, "servers")}, id,
		strconv.FormatInt(beatLimit.Milliseconds(), 10))
	return alive, redis.Part(0).Do(x)
}

// came and left note that a user is connected here now, and that the user is not any more.
func (r *registry) came(user uint32) { r.note(func() { r.users[user] = true }) }
func (r *registry) left(user uint32) { r.note(func() { r.users[user] = false }) }

// ended notes that a removed member's subscriptions have ended here.
func (r *registry) ended(part int, position int64) { r.note(func() { r.removed[part] = position }) }

// took notes how far this server is in the log of a part.
func (r *registry) took(part int, position int64) {
	r.mu.Lock()
	r.at[part] = position
	r.mu.Unlock()
}

// changed notes that somebody here subscribed to a thread, or no longer does.
func (r *registry) changed(thread string) { r.note(func() { r.here[thread] = struct{}{} }) }

func (r *registry) note(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// again writes all connected users again: Redis may have lost them, and they have an end there.
func (r *registry) again() {
	users := r.audience.connected()
	r.note(func() {
		for _, user := range users {
			if _, waits := r.users[user]; !waits {
				r.users[user] = true
			}
		}
	})
}

// hereAgain writes the subscribers of all threads again.
func (r *registry) hereAgain() {
	for _, name := range r.node.Hub().Channels() {
		if c, ok := parseChannel(name); ok && c.thread != "" {
			r.changed(c.thread)
		}
	}
}

// write writes what was noted until ctx ends, then once more.
func (r *registry) write(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
		for r.writeNoted() != nil && background.Pause(ctx, noteRetry) {
		}
	}
}

// writeNoted writes what was noted. What fails stays noted.
func (r *registry) writeNoted() error {
	r.mu.Lock()
	users, removed, here := r.users, r.removed, r.here
	r.users, r.removed, r.here = map[uint32]bool{}, [pipeline.Parts]int64{}, map[string]struct{}{}
	r.mu.Unlock()
	var parts [pipeline.Parts]*pipeline.Call
	command := func(part int, words ...string) {
		if parts[part] == nil {
			parts[part] = pipeline.NewCall()
		}
		parts[part].Command(nil, words...)
	}
	for part, position := range removed {
		if position > 0 {
			command(part, "HSET", partKey(part, "removed"), r.id, strconv.FormatInt(position, 10))
			command(part, "EXPIRE", partKey(part, "removed"), seconds(removedTTL))
		}
	}
	for user, connected := range users {
		if key, part := onKey(user), userPart(user); connected {
			command(part, "HSET", key, r.id, "1")
			command(part, "EXPIRE", key, seconds(onTTL))
		} else {
			command(part, "HDEL", key, r.id)
		}
	}
	for thread := range here {
		key, part := hereKey(thread), pipeline.PartOf(thread)
		command(part, "HSET", key, r.id, r.hereText(thread))
		command(part, "EXPIRE", key, seconds(hereTTL))
	}
	err := r.send(parts)
	if err != nil {
		r.putBack(users, removed, here)
	}
	return err
}

// send sends the calls of all parts at once.
func (r *registry) send(parts [pipeline.Parts]*pipeline.Call) error {
	var all sync.WaitGroup
	var errs [pipeline.Parts]error
	for part, call := range parts {
		if call != nil {
			all.Go(func() { errs[part] = r.redis.Part(part).Do(call) })
		}
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// putBack notes again what was not written, but for what is newer.
func (r *registry) putBack(users map[uint32]bool, removed [pipeline.Parts]int64, here map[string]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for user, connected := range users {
		if _, newer := r.users[user]; !newer {
			r.users[user] = connected
		}
	}
	for part, position := range removed {
		r.removed[part] = max(r.removed[part], position)
	}
	for thread := range here {
		r.here[thread] = struct{}{}
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// lives reports whether a server lives.
func (r *registry) lives(server string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.alive, server)
}

// online returns those users who are connected to a server that lives.
func (r *registry) online(users []uint32) (found map[uint32]bool, err error) {
	var parts [pipeline.Parts]*pipeline.Call
	servers := make([][]string, len(users))
	for i, user := range users {
		part := userPart(user)
		if parts[part] == nil {
			parts[part] = pipeline.NewCall()
		}
		parts[part].Command(&servers[i], "HKEYS", onKey(user))
	}
	if err := r.send(parts); err != nil {
		return nil, err
	}
	found = map[uint32]bool{}
	for i, user := range users {
		found[user] = slices.ContainsFunc(servers[i], r.lives)
	}
	return found, nil
}

// hereText is who subscribes to a thread here.
func (r *registry) hereText(thread string) string {
	stats, err := r.node.PresenceStats(threadPrefix + thread)
	if err != nil {
		return "0 0"
	}
	text := strconv.Itoa(stats.NumClients) + " " + strconv.Itoa(stats.NumUsers)
	if stats.NumClients > hereListMax || isRoom(thread) {
		return text
	}
	clients, err := r.node.Presence(threadPrefix + thread)
	if err != nil {
		return text
	}
	for id, info := range clients.Presence {
		text += " " + id + ":" + info.UserID
	}
	return text
}

// elsewhere returns who subscribes to a thread on the other servers that live.
func (r *registry) elsewhere(thread string) (clients map[string]*centrifuge.ClientInfo,
	stats centrifuge.PresenceStats, err error) {
	clients = map[string]*centrifuge.ClientInfo{}
	var texts map[string]string
	part := pipeline.PartOf(thread)
	x := pipeline.Command(&texts, "HGETALL", hereKey(thread))
	if err := r.redis.Part(part).Do(x); err != nil {
		return nil, stats, err
	}
	for server, text := range texts {
		words := strings.Fields(text)
		if server == r.id || len(words) < 2 || !r.lives(server) {
			continue
		}
		n, _ := strconv.Atoi(words[0]) // 0 for what no server has written
		users, _ := strconv.Atoi(words[1])
		stats.NumClients, stats.NumUsers = stats.NumClients+n, stats.NumUsers+users
		for _, word := range words[2:] {
			id, user, _ := strings.Cut(word, ":")
			clients[id] = &centrifuge.ClientInfo{ClientID: id, UserID: user}
		}
	}
	return clients, stats, nil
}
