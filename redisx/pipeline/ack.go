package pipeline

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4/resp"
)

// Ack is what an answer of Redis has to survive before it counts.
type Ack string

const (
	AckLocal   Ack = "local"   // a crash of the node, as far as the node keeps its data; "" is the same
	AckReplica Ack = "replica" // the loss of the master with its disk: all replicas have the changes
	AckDisk    Ack = "disk"    // also a power cut of all nodes: master and replicas have them on disk
)

// Acks are all of them; the first is the default.
var Acks = []string{string(AckLocal), string(AckReplica), string(AckDisk)}

// waits reports whether an answer waits for replicas.
func (a Ack) waits() bool { return a == AckReplica || a == AckDisk }

// fence makes the answers of a Conn wait. Each batch ends with a small write and a WAIT. WAIT covers the
// writes of its own connection only; the write lets it cover everything that the batch has read, too. So an
// order that is shown, or confirmed under its idempotency key, is as safe as a new one.
type fence struct {
	key      string
	disk     bool
	replicas atomic.Int32 // how many may be elected: all of them must have the changes
	since    atomic.Int64 // when the batch under way was sent, Unix nanoseconds; 0: none is

	// alone: the master has refused the last write, because too few replicas are connected. WAIT would take its
	// whole time for each batch, so it waits for none until the master takes a write. The owner of the Conn
	// notes it.
	alone bool
}

func newFence(ack Ack, key string) *fence {
	if !ack.waits() || key == "" {
		return nil
	}
	return &fence{key: key, disk: ack == AckDisk}
}

// waitShare is the part of a batch's time that WAIT may take. The rest is for its reply: without a reply the
// connection is dropped.
const waitShare = 2.0 / 3

// fenced is the fence of a batch.
type fenced struct {
	*fence
	limit    time.Duration // for WAIT
	replicas int           // that must have the changes, as it was sent
}

const fenceReplies = 2 // to the write and to WAIT

// noteSent sets the time for WAIT in a batch.
func (f *fenced) noteSent(deadline, sent time.Time) {
	f.limit = max(time.Duration(waitShare*float64(deadline.Sub(sent))), time.Millisecond)
}

// appendTo appends the write and WAIT.
func (f *fenced) appendTo(dst []byte) []byte {
	f.replicas = int(f.fence.replicas.Load())
	awaited := f.replicas
	if f.alone {
		awaited = 0
	}
	replicas, limit := strconv.Itoa(awaited), strconv.FormatInt(f.limit.Milliseconds(), 10)
	dst = appendBulks(appendHeader(dst, '*', 3), []string{"SET", f.key, ""})
	if f.disk {
		return appendBulks(appendHeader(dst, '*', 4), []string{"WAITAOF", "1", replicas, limit})
	}
	return appendBulks(appendHeader(dst, '*', 3), []string{"WAIT", replicas, limit})
}

// read reads both replies. An error that is unkept means that the answers of the batch do not count; the
// second is a fault of the connection.
func (f *fenced) read(br resp.BufferedReader) (unkept, broken error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("cannot read a reply of Redis: %w", err)
	}
	if line[0] == '-' {
		unkept = unsafeAnswer(strings.TrimSpace(string(line[1:])))
	} else if line[0] != '+' {
		return nil, badReply(line, '+')
	}
	f.alone = bytes.HasPrefix(line, []byte("-NOREPLICAS "))
	local, replicas, refused, err := f.readWait(br)
	switch {
	case err != nil:
		return nil, err
	case unkept != nil:
	case refused != nil:
		unkept = unsafeAnswer(refused.Error())
	case local < 1:
		unkept = unsafeAnswer("the master does not have the changes on disk in time")
	case replicas < int64(f.replicas):
		unkept = unsafeAnswer(fmt.Sprintf("%d of %d replicas have the changes in time", replicas, f.replicas))
	}
	return unkept, nil
}

// readWait reads the reply to WAIT or WAITAOF.
func (f *fenced) readWait(br resp.BufferedReader) (local, replicas int64, refused, broken error) {
	if !f.disk {
		replicas, refused, broken = readNumber(br, ':')
		return 1, replicas, refused, broken
	}
	n, refused, broken := readNumber(br, '*')
	if refused != nil || broken != nil {
		return 0, 0, refused, broken
	}
	if n != 2 {
		return 0, 0, nil, fmt.Errorf("%w: %d numbers for a WAITAOF", errBadReply, n)
	}
	for _, p := range []*int64{&local, &replicas} {
		if *p, refused, broken = readNumber(br, ':'); refused != nil || broken != nil {
			return 0, 0, refused, broken
		}
	}
	return local, replicas, nil, nil
}

// unsafeAnswer is the error of calls that Redis has carried out, but too few nodes have their changes. It is
// an ErrUnavailable: a fail-over may take the changes away.
type unsafeAnswer string

func (u unsafeAnswer) Error() string        { return "an answer of Redis is not safe: " + string(u) }
func (u unsafeAnswer) Is(target error) bool { return target == ErrUnavailable }

// failure names the error of a call for the log.
func failure(err error) string {
	if _, unkept := err.(unsafeAnswer); unkept {
		return "Redis does not have changes where -ack wants them"
	}
	return "Redis refused a command"
}

// twin is a second connection, so that a batch that waits for replicas does not delay the next one.
type twin struct{ *Conn }

func newTwin(c *Conn) *twin { return &twin{newConn(c.cfg, c.opts)} }

// freer returns the connection that sends a call first: one without a batch under way, or that with the
// older batch.
func (t *twin) freer(c *Conn) *Conn {
	own, other := c.fence.since.Load(), t.fence.since.Load()
	switch {
	case !t.up.Load():
		return c
	case !c.up.Load(), own != 0 && other < own:
		return t.Conn
	}
	return c
}
