package pipeline

import (
	"slices"
	"sync/atomic"
	"time"
)

// The rules for calls that come faster than Redis answers: which calls are refused, and how long a batch
// waits for its replies. Each call is answered within Config.Timeout and replyGrace.

// QueueMax is how many calls may wait on one connection; the next is refused at once.
const QueueMax = 8192

const (
	paceBatches = 4 // full batches that show the pace of Redis

	// replyGrace is the least time that a batch has for its replies. Without it a call near its deadline would
	// make all calls of its batch fail, although Redis answers.
	replyGrace = 300 * time.Millisecond
)

// pace is the time that Redis takes for a full batch: the shortest of the last few. A slow disk write delays
// a single batch and does not predict the next one. Only one goroutine may call note.
type pace struct {
	took    [paceBatches]time.Duration // a ring; 0 for a batch that is still to come
	next    int
	fastest atomic.Int64 // of took, nanoseconds
}

// note adds the time of a full batch.
func (p *pace) note(took time.Duration) {
	p.took[p.next] = took
	p.next = (p.next + 1) % paceBatches
	p.fastest.Store(int64(slices.Min(p.took[:])))
}

// late reports whether a call behind this many others is sure to be answered after the timeout: the full
// batches before it take longer. Such a call is refused at once, while its client still listens.
func (p *pace) late(waiting int, timeout time.Duration) bool {
	return time.Duration(waiting/batchMax)*time.Duration(p.fastest.Load()) > timeout
}

// expired reports whether a call's timeout is over before it is sent.
func expired(queued, now time.Time, timeout time.Duration) bool { return now.Sub(queued) >= timeout }

// replyDeadline is when a batch sent now stops waiting for its replies: its oldest call has its whole
// timeout, and Redis has replyGrace, or the timeout if that is shorter.
func replyDeadline(oldest, now time.Time, timeout time.Duration) time.Time {
	due, least := oldest.Add(timeout), now.Add(min(replyGrace, timeout))
	if due.Before(least) {
		return least
	}
	return due
}
