package load

import (
	"context"
	"strconv"
	"time"
)

// answer is the end of one request: a reply, or a fault in transport. The body is valid until the next call.
type answer struct {
	reply
	twice bool // the server may have seen the request two times
	lost  bool // a fault in transport
	tries int  // of ask
}

func (a answer) answered(status int) bool { return !a.lost && a.status == status }

// refused reports whether the answer gives a reason.
func (a answer) refused() bool { return !a.lost && a.status >= 400 && a.status < 500 }

// open reports whether the outcome of the request is unknown.
func (a answer) open() bool { return a.lost || a.status >= 500 }

// successOf is the status that each step answers when it went well.
var successOf = [StepCount]int{StepLogin: 200, StepFoods: 200, StepCart: 200, StepAdd: 204, StepOrder: 200}

// ask is call with retries, for requests that the server may see twice. After the end of the load it repeats
// only orders, because their outcome must become known.
func (b *buyer) ask(ctx context.Context, s Step, method, path string, body []byte) answer {
	for n := 1; ; n++ {
		a := b.call(s, method, path, body)
		a.tries = n
		if !a.open() || n >= b.retries.triesMax || ctx.Err() != nil && s != StepOrder {
			return a
		}
		b.again(s, n, retryRequest)
	}
}

// again counts a retry and waits for its time.
func (b *buyer) again(s Step, n int, what string) {
	b.tally.count(retry, s, what)
	time.Sleep(b.retries.pause(n, b.dice.Int64N))
}

// call sends one request to a random server, records its latency and counts a refusal or a fault.
func (b *buyer) call(s Step, method, path string, body []byte) answer {
	server := b.dice.IntN(len(b.client.servers))
	key := ""
	if s == StepOrder {
		key = b.key
	}
	b.request = b.style.appendRequest(b.request[:0], method, path, b.client.servers[server],
		b.token, key, body)
	sent := time.Now()
	rep, twice, err := b.send(s, server)
	took := time.Since(sent)
	if b.style.NewConnections {
		b.client.close()
	}
	if err != nil {
		b.tally.count(fault, s, faultKind(err))
		return answer{lost: true, twice: twice}
	}
	b.tally.time(s, took, sent.Sub(b.began)+took)
	b.replies.look(method, path, rep)
	if rep.status != successOf[s] {
		code := texts(rep.body).Code
		if code == "" {
			code = "HTTP " + strconv.Itoa(rep.status)
		}
		b.tally.count(refusal, s, code)
	}
	return answer{reply: rep, twice: twice}
}

// need returns the text of a successful answer, "" when the step did not succeed; a success without the text
// is a fault.
func (b *buyer) need(s Step, a answer, text string) string {
	if !a.answered(successOf[s]) {
		return ""
	}
	if text == "" {
		b.tally.count(fault, s, "malformed reply")
	}
	return text
}

// retrying repeats a request without an answer, or with an answer of 500 and above; an order keeps its
// Idempotency-Key. The zero value repeats nothing.
type retrying struct {
	triesMax           int // of one request, and carts of one flow
	pauseMin, pauseMax time.Duration
}

// settling is for -retry. All its pauses together give Redis time to restart; the longest pause is the
// server's Retry-After.
var settling = retrying{triesMax: 20, pauseMin: 50 * time.Millisecond, pauseMax: time.Second}

// The kinds of retries in the report.
const (
	retryRequest = "sent again"
	retryCart    = "put into a new cart"
)

func (r retrying) on() bool { return r.triesMax > 1 }

// pause is the time between try n, from 1 on, and the next: doubled each time. Half of it is random, so that
// buyers refused together do not come back together.
func (r retrying) pause(n int, dice func(int64) int64) time.Duration {
	pause := r.pauseMax
	if doubled := r.pauseMin << (n - 1); n <= 10 && doubled < pause {
		pause = doubled
	}
	return pause/2 + time.Duration(dice(int64(pause/2)+1))
}

// orderKey is the Idempotency-Key of a user's order in this run.
func orderKey(seed uint64, user uint32) string {
	return "bench-" + strconv.FormatUint(seed, 36) + "-" + strconv.FormatUint(uint64(user), 10)
}
