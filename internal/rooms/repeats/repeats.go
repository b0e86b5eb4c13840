// Package repeats counts how often a text was received in a window of time, 24 hours by default, from
// everyone and to the second. It also keeps the replies of a VK bot, which answers each message with its
// count.
//
// A Counter belongs to each process that serves requests. One Keeper in each server does the work behind
// it: it trims texts that are no longer sent, and sends the replies of the bot.
//
// It must not know HTTP calls of its own server, nor the sale. Redis gets no texts, only their keyed hashes.
// It is slow where a call waits for Redis: one round trip for each message.
package repeats

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/text/unicode/norm"

	"flashsale/redisx/pipeline"
)

// Outcomes of texts and of messages to the bot.
var (
	// ErrQueueFull: as many replies wait as may. Nothing was done.
	ErrQueueFull = errors.New("too many replies wait")
	// ErrNotRecorded: there is a count, but the text was not recorded, for it would not fit Config.BytesMax.
	ErrNotRecorded = errors.New("the counts fill the memory that they may take")
	// ErrNoReply: the message was counted and gets no reply, because VK refuses the token of the group.
	ErrNoReply = errors.New("VK refuses the token of the group")
)

// parkedMax is how many replies of a group wait at most while VK refuses its token.
const parkedMax = 1000

// What receive.lua returns.
const (
	received     = 0
	seenBefore   = 1
	repliesAtMax = 2
	noReply      = 3
	notRecorded  = 4
)

// Config is what the room needs.
type Config struct {
	Redis    pipeline.Config
	Secret   []byte        // keys the hashes of texts; the same on all servers that count together
	Window   time.Duration // of a count, in whole seconds; the same on all servers
	BytesMax int64         // of Redis that entries of texts and marks of events may take
	// RepliesMax is how many replies of each group of the bot may wait.
	RepliesMax int

	// Now is the clock, to the millisecond; nil is that of Redis, which all servers share.
	Now func() time.Time
}

// now is the last ARGV of most scripts: Unix milliseconds, "" for the clock of Redis.
func (c *Config) now() string {
	if c.Now == nil {
		return ""
	}
	return strconv.FormatInt(c.Now().UnixMilli(), 10)
}

// window is the window in seconds.
func (c *Config) window() string { return strconv.FormatInt(int64(c.Window/time.Second), 10) }

// recordsMax is how many records there may be.
func (c *Config) recordsMax() string { return strconv.FormatInt(c.BytesMax/recordBytes, 10) }

// Counter counts texts. Its methods are safe for concurrent use.
type Counter struct {
	cfg   Config
	names *names
	redis *pipeline.Conn
	count *pipeline.Shared
}

// New makes a Counter. Run must run for its calls to be answered.
func New(cfg Config) (*Counter, error) {
	names, err := newNames(cfg.Secret)
	if err != nil {
		return nil, err
	}
	count := countScript.Share([]string{sweepsKey, recordsKey}, []string{cfg.window(), cfg.recordsMax()}, 1, 1)
	redis := pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{receiveScript},
		Shared:  []*pipeline.Shared{count},
		Outage:  &pipeline.Outage{Effect: "counts of repeated messages get 503"},
	})
	return &Counter{cfg: cfg, names: names, redis: redis, count: count}, nil
}

// Run keeps the connection until ctx ends, and returns nil then.
func (c *Counter) Run(ctx context.Context) error { return c.redis.Run(ctx) }

// Conn is its connection to Redis, for tests that look at what the room has stored.
func (c *Counter) Conn() *pipeline.Conn { return c.redis }

// Count returns how often the text was received in the window before, and records it once more. Texts that
// look the same (Unicode NFC) are the same. With ErrNotRecorded the count is right too. After
// pipeline.ErrUnavailable the text may have been recorded.
func (c *Counter) Count(text string) (int64, error) {
	x := c.count.Call().Key([]byte(textPrefix + c.names.text(text))).Arg([]byte(c.cfg.now()))
	n, err := c.redis.DoInteger(x)
	if err == nil && n < 0 {
		return -1 - n, ErrNotRecorded
	}
	return n, err
}

// Message is a message to the bot.
type Message struct {
	Group int64  // that it was sent to, 0 for that of the flags
	Event string // its identity in the group: received twice, it is counted once
	Peer  int64  // the conversation that gets the reply
	Text  string // "": it is not counted, and the reply asks for a text
}

// Receive counts a message and queues the reply, or does neither. After nil or ErrNotRecorded the reply is
// in Redis and is sent, whatever becomes of this process. After any error Receive may be repeated.
func (c *Counter) Receive(m Message) error {
	event, queue, reply := c.names.event(m.Group, m.Event), queueOf(m.Group), ""
	if m.Text == "" {
		reply = noText
	}
	var code int64
	err := c.redis.Do(receiveScript.Call(&code, []string{
		sweepsKey, recordsKey, textPrefix + c.names.text(m.Text), eventPrefix + event, queue.due, queue.replies,
		queue.refused,
	}, c.cfg.window(), c.cfg.recordsMax(), event, strconv.FormatInt(m.Peer, 10),
		strconv.Itoa(c.cfg.RepliesMax), strconv.Itoa(min(c.cfg.RepliesMax, parkedMax)), reply, c.cfg.now()))
	switch {
	case err != nil:
		return err
	case code == received || code == seenBefore:
		return nil
	case code == repliesAtMax:
		return ErrQueueFull
	case code == noReply:
		return ErrNoReply
	case code == notRecorded:
		return ErrNotRecorded
	}
	return fmt.Errorf("receive.lua returned the unknown code %d", code)
}

const nameBytes = 16

// names makes the names of texts and events in Redis: HMAC-SHA256, cut to 128 bits. Without the secret
// the store alone does not show whether a text was sent.
type names struct {
	texts, events []byte // keys
}

func newNames(secret []byte) (*names, error) {
	texts, err := hkdf.Key(sha256.New, secret, nil, "flashsale repeats: texts", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("cannot derive the key of texts: %w", err)
	}
	events, err := hkdf.Key(sha256.New, secret, nil, "flashsale repeats: events", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("cannot derive the key of events: %w", err)
	}
	return &names{texts, events}, nil
}

// text names a text by its NFC form: "é" as one character or as two is the same text.
func (n *names) text(text string) string { return name(n.texts, norm.NFC.String(text)) }

func (n *names) event(group int64, event string) string {
	return name(n.events, strconv.FormatInt(group, 10)+" "+event)
}

func name(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:nameBytes])
}
