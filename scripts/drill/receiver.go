package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	receiverName = "drill"
	postMax      = 64 << 10 // bytes
	failShare    = 0.03     // of the posts to a receiver that fails
	hangMost     = 3        // posts without an answer: each holds up the sender for 10 s
	wrongMost    = 10       // that are noted
)

// receiver takes webhooks and notes the events. Those of 100,000 orders take some 60 MB.
type receiver struct {
	*httptest.Server
	key  *webhooks.Webhook
	gone atomic.Bool // it answers 410

	mu    sync.Mutex
	dice  *rand.Rand      // some posts fail; nil: none
	taken map[string]bool // by id
	seqs  map[string]int  // of the last event, by order
	wrong []string        // what no sender may do

	posts, failed, hung int
	again               int // posts of an event that was there
}

func startReceiver() (*receiver, error) {
	key, err := webhooks.NewWebhook(paymentSecret)
	if err != nil {
		return nil, err
	}
	r := &receiver{key: key, taken: map[string]bool{}, seqs: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	return r, nil
}

// startReceiver starts a receiver of webhooks and returns the file of -webhooks.
func (s *stack) startReceiver() (file string, err error) {
	if s.receiver, err = startReceiver(); err != nil {
		return "", err
	}
	file = filepath.Join(s.folder, "webhooks.csv")
	text := fmt.Sprintf("name,url,secrets,events\n%s,%s,%s,\n", receiverName, s.receiver.URL, paymentSecret)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.receiver.Close()
		return "", errors.Join(errors.New("cannot write the webhooks of the drill"), err)
	}
	return file, nil
}

// fail makes some posts fail from now on, as the dice want; nil ends that.
func (r *receiver) fail(dice *rand.Rand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dice = dice
}

// posted is an event as the receiver reads it.
type posted struct {
	ID   string
	Data struct {
		Order string `json:"order_id"`
		Seq   int
	}
}

// receive takes a post.
func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, postMax))
	switch {
	case err != nil: // the sender was killed
		return
	case r.gone.Load():
		w.WriteHeader(http.StatusGone)
		return
	}
	var e posted
	err = errors.Join(r.key.Verify(body, request.Header), json.Unmarshal(body, &e))
	if err == nil && e.ID != request.Header.Get(webhooks.HeaderWebhookID) {
		err = errors.New("another id in its header")
	}
	if err != nil {
		r.object("a post is wrong: %v: %.200s", err, body)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.note(&e)(w, request)
}

// The answers of a receiver that fails.
var (
	errs  = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	cuts  = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	hangs = func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }
)

// note notes an event and returns how to answer it. Half of the posts that fail are noted all the same, as
// by a receiver that fails after it has stored an event.
func (r *receiver) note(e *posted) (answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts++
	if r.dice == nil || r.dice.Float64() >= failShare {
		r.store(e)
		return func(http.ResponseWriter, *http.Request) {}
	}
	r.failed++
	if r.dice.IntN(2) == 0 {
		r.store(e)
	}
	switch kind := r.dice.IntN(10); {
	case kind == 0 && r.hung < hangMost:
		r.hung++
		return hangs
	case kind < 5:
		return cuts
	}
	return errs
}

// store stores an event. Those of one order come in order.
func (r *receiver) store(e *posted) {
	if r.taken[e.ID] {
		r.again++
		return
	}
	r.taken[e.ID] = true
	if order := e.Data.Order; order != "" {
		if last := r.seqs[order]; e.Data.Seq != last+1 {
			r.objectLocked("event %s is number %d of order %s, behind number %d", e.ID, e.Data.Seq, order, last)
		}
		r.seqs[order] = e.Data.Seq
	}
}

// object notes what no sender may do.
func (r *receiver) object(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objectLocked(format, args...)
}

func (r *receiver) objectLocked(format string, args ...any) {
	if len(r.wrong) < wrongMost {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	}
}

// lacks returns those of the events that the receiver does not have.
func (r *receiver) lacks(ids []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(ids, func(id string) bool { return r.taken[id] })
}

// judge passes on what was wrong.
func (r *receiver) judge(s *stack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, wrong := range r.wrong {
		s.breaks("%s", wrong)
	}
	if r.failed == 0 {
		s.breaks("no post failed, which proves nothing")
	}
	s.note("the receiver: %d events of %d orders; %d posts, of these %d failed (%d without an answer) and %d "+
		"came again", len(r.taken), len(r.seqs), r.posts, r.failed, r.hung, r.again)
}
