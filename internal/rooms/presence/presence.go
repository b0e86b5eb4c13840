// Package presence knows who is online. It is pull, as in the big messengers: a client sends a heartbeat
// every 10 seconds and gets the status of the user's contacts in the answer. A user without a heartbeat for
// a minute is offline. Nothing is sent to others when a user comes or goes, so a region that comes back
// costs its own heartbeats and no more.
//
// A heartbeat is one round trip: the calls to all connections are sent before an answer is awaited. A status
// that was read is good for some seconds for all users of the process, so that Redis is asked once for a
// user whom many have as a contact. Who may see whom is decided by the function that returns the contacts.
//
// Times come from the clock of the Redis that keeps the user, also for the question whether a heartbeat is
// recent: clocks of servers do not matter.
//
// It is slow where it reads contacts: they are kept for half a minute, then that is a call of another room.
package presence

import (
	"context"
	_ "embed" // the script
	"slices"
	"strconv"
	"sync"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/redisx/pipeline"
)

const (
	// offlineAfter is the time without a heartbeat after which a user is offline. A client should send one
	// every sixth of it.
	offlineAfter = time.Minute
	// contactsMax is the number of contacts whose status a heartbeat returns at most.
	contactsMax = 1000

	contactsFor   = 30 * time.Second // how long contacts are not read again: a block may be that late
	contactsUsers = 16 << 10         // users whose contacts are kept
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

// Config has what the room needs.
type Config struct {
	Redis []pipeline.Config // see pipeline.NewSpread
	// Contacts returns the contacts of a user whose status the user may see; those over contactsMax are left
	// out. nil: there are none.
	Contacts func(user uint32) ([]uint32, error)

	Heartbeats *figures.Counter // nil: not published
	Lookups    *figures.Counter // statuses that were read from Redis
	Now        func() time.Time // nil: time.Now; only for the age of what is kept in this process
}

// Status is what others may see of a user.
type Status struct {
	User   uint32
	Online bool
	Seen   time.Time // the last heartbeat; zero: none, or too long ago to be known

	Unknown bool // the Redis that keeps the user does not answer
}

// Presence is the room in one process. Its methods are safe for concurrent use. Their errors are
// pipeline.ErrUnavailable of the Redis that keeps the user, and those of Config.Contacts.
type Presence struct {
	cfg      Config
	redis    *pipeline.Spread
	statuses statuses

	mu       sync.Mutex
	contacts generation[[]uint32]
}

// New makes a Presence. Run must run.
func New(cfg Config) *Presence {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Heartbeats == nil {
		cfg.Heartbeats, cfg.Lookups = &figures.Counter{}, &figures.Counter{}
	}
	p := &Presence{cfg: cfg, contacts: generation[[]uint32]{period: contactsFor, most: contactsUsers}}
	p.statuses.kept = generation[*status]{period: statusesFor, most: statusesMax}
	p.redis = pipeline.NewSpread(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{beatScript},
		Outage:  &pipeline.Outage{Effect: "heartbeats of users get 503"},
	})
	return p
}

// Run keeps the connections until ctx ends, and returns nil then.
func (p *Presence) Run(ctx context.Context) error { return p.redis.Run(ctx) }

// Heartbeat notes that a device of the user is there. It returns whether others may see the user, and the
// status of the user's contacts, in their order. After an error the heartbeat may have been noted.
func (p *Presence) Heartbeat(user uint32) (visible bool, contacts []Status, err error) {
	p.cfg.Heartbeats.Inc()
	ids, err := p.contactsOf(user)
	if err != nil {
		return false, nil, err
	}
	readings := newReadings(len(p.redis.Conns()))
	found := p.statuses.look(ids, readings, p.cfg.Now())
	if visible, err = p.beat(user, asBefore, readings); err != nil {
		return false, nil, err
	}
	contacts = make([]Status, len(found))
	for i, s := range found {
		if s.reading.await() != nil {
			contacts[i] = Status{User: s.User, Unknown: true}
		} else {
			contacts[i] = s.Status
		}
	}
	return visible, contacts, nil
}

// SetVisible notes whether others may see that the user is online. An invisible user is offline for others,
// and was last seen at the last heartbeat before. Others may learn of a change some seconds later.
func (p *Presence) SetVisible(user uint32, visible bool) error {
	wish := wishInvisible
	if visible {
		wish = wishVisible
	}
	_, err := p.beat(user, wish, newReadings(len(p.redis.Conns())))
	return err
}

// beat runs beat.lua for the user together with the readings, one for each connection. All are sent before
// an answer is awaited; it awaits only the one that has the user.
func (p *Presence) beat(user uint32, wish string, readings []reading) (visible bool, err error) {
	var code int64 = -1
	key, part := userKey(user)
	own := &readings[part%len(readings)]
	own.call = beatScript.Call(&code, []string{key}, wish, seconds(keptFor),
		seconds(invisibleFor))
	for i, conn := range p.redis.Conns() {
		p.cfg.Lookups.Add(uint64(len(readings[i].users)))
		readings[i].send(conn)
	}
	if err := own.await(); err != nil {
		return false, err
	}
	if code != beatVisible && code != beatInvisible {
		return false, pipeline.UnknownCode("beat.lua", code)
	}
	return code == beatVisible, nil
}

// contactsOf returns the contacts of a user as they were less than contactsFor ago.
func (p *Presence) contactsOf(user uint32) (ids []uint32, err error) {
	if p.cfg.Contacts == nil {
		return nil, nil
	}
	p.mu.Lock()
	ids, found := p.contacts.current(p.cfg.Now())[user]
	p.mu.Unlock()
	if found {
		return ids, nil
	}
	if ids, err = p.cfg.Contacts(user); err != nil {
		return nil, err
	}
	ids = slices.Clone(ids[:min(len(ids), contactsMax)])
	p.mu.Lock()
	p.contacts.current(p.cfg.Now())[user] = ids
	p.mu.Unlock()
	return ids, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
