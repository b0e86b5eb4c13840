package push

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/centrifugal/centrifuge"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

const connectCommand = `{"id":1,"connect":{"token":"TICKET"}}`

// last is the last answer to frames.
func last(t *testing.T, s *running, frames ...string) string {
	t.Helper()
	got := talk(t, s, frames...)
	return got[len(got)-1]
}

func TestDevicesOfAUser(t *testing.T) {
	s, _ := one(t)
	for range devicesMax {
		dial(t, s, ann)
	}
	testkit.Until(t, "all devices", func() bool { return s.node.Hub().NumClients() == devicesMax })
	if got := last(t, s, connectCommand); got != "close 3504" {
		t.Errorf("one more device: %s", got)
	}
	dial(t, s, bob)
	testkit.Until(t, "another user", func() bool { return s.node.Hub().NumClients() == devicesMax+1 })
}

func TestSubscriptionsOfAConnection(t *testing.T) {
	s, _ := one(t)
	commands := []string{connectCommand}
	for i := range channelsMax { // the user's channel is there already
		n := strconv.Itoa(i + 2)
		commands = append(commands, `{"id":`+n+`,"subscribe":{"channel":"food:`+n+`"}}`)
	}
	got := talk(t, s, strings.Join(commands, "\n"), endCommand)
	want := `{"id":129,"error":{"code":106,"message":"limit exceeded"}}`
	if n := len(got); n != 1+channelsMax || got[n-1] != want || strings.Contains(got[n-2], "error") {
		t.Errorf("%d answers, at last %q", len(got), got[len(got)-2:])
	}
}

// A client asks the store as often as it needs to when it comes back, but not for ever.
func TestReadsHaveAPace(t *testing.T) {
	cfg := config(newStore(), roomtest.Redis(t))
	clock := roomtest.NewClock(time.Now())
	cfg.Now = clock.Now
	s := start(t, cfg)
	read := `{"id":2,"history":{"channel":"thread:` + them + `"}}`
	frames := slices.Repeat([]string{strings.Repeat(read+"\n", readsBurst/4)}, 4)
	got := talk(t, s, append(append([]string{connectCommand}, frames...), read, endCommand)...)
	want := `{"id":2,"error":{"code":111,"message":"too many requests","temporary":true}}`
	if n := len(got); got[n-1] != want || strings.Contains(got[n-2], "error") {
		t.Errorf("%d answers, at last %q", len(got), got[len(got)-2:])
	}
}

// A recovery of much is refused truly, and does not run beside many others.
func TestRecoveriesAreBounded(t *testing.T) {
	s, st := one(t)
	const messages = 200
	st.write(t, them, slices.Repeat([]string{strings.Repeat("x", 4000)}, messages)...)
	recover := func(from int) string {
		return last(t, s, connectCommand, `{"id":2,"subscribe":{"channel":"thread:`+them+
			`","recover":true,"epoch":"e1","offset":`+strconv.Itoa(from)+`}}`, endCommand)
	}
	missed := `{"id":2,"subscribe":{"recoverable":true,"epoch":"e1","offset":200,"positioned":true,` +
		`"was_recovering":true}}`
	if got := recover(1); got != missed {
		t.Errorf("800 KB: %.200s", got)
	}
	recovered := func(from int) {
		t.Helper()
		got := recover(from)
		n := strings.Count(got, `"thread_id"`)
		if !strings.Contains(got, `"recovered":true`) || n != messages-from {
			t.Errorf("from %d: %d messages, %.200s", from, n, got)
		}
	}
	recovered(messages - 100)
	for range userRecoveries {
		s.recoveries.take(ann)
	}
	if got := recover(messages - 100); !strings.Contains(got, `"code":111,`) {
		t.Errorf("too many at once: %.200s", got)
	}
	recovered(messages - 2) // needs no place
	s.recoveries.leave(ann)
	recovered(messages - 100)
	if s.recoveries.taken != userRecoveries-1 {
		t.Errorf("%d places are taken", s.recoveries.taken)
	}
}

// A thread that is too large for a window, in bytes or in messages, is read for all who recover together,
// and can be read page by page.
func TestWindowsAreBounded(t *testing.T) {
	for kept, reads := range map[int]int{1000: 1, 100: 2} { // the second read begins with the newest ones
		t.Run(fmt.Sprint(kept), func(t *testing.T) { testWindow(t, kept, reads) })
	}
}

func testWindow(t *testing.T, kept, reads int) {
	st := newStore()
	cfg := config(st, roomtest.Redis(t))
	cfg.MessagesMax = kept
	s := start(t, cfg)
	const messages = 1500
	known := s.histories.get(them)
	st.write(t, them, slices.Repeat([]string{strings.Repeat("x", 1000)}, messages)...)
	testkit.Until(t, "the whole log", func() bool { // a line that comes later has the thread read again
		known.mu.Lock()
		defer known.mu.Unlock()
		return known.delivered == messages
	})
	st.change(func() { st.threads[them].first = 10 })
	for range 3 {
		v, err := s.histories.get(them).after(10)
		testkit.Must(t, err)
		n := len(v.messages)
		if !v.older || v.messages[n-1].Offset != messages || n < min(2*kept, 800) || n > messages-100 {
			t.Errorf("%d messages, older %v", n, v.older)
		}
	}
	if st.reads > reads || s.histories.bytes.Load() > windowBytes {
		t.Errorf("%d reads, %d bytes are kept", st.reads, s.histories.bytes.Load())
	}
	var forward, backward []uint64
	for filter := (centrifuge.HistoryFilter{Limit: 70}); ; {
		v, err := s.page(them, filter)
		testkit.Must(t, err)
		if len(v.messages) == 0 {
			break
		}
		for _, pub := range v.messages {
			forward = append(forward, pub.Offset)
		}
		filter.Since = &centrifuge.StreamPosition{Offset: forward[len(forward)-1], Epoch: "e1"}
	}
	for filter := (centrifuge.HistoryFilter{Limit: 70, Reverse: true}); ; {
		v, err := s.page(them, filter)
		testkit.Must(t, err)
		if len(v.messages) == 0 {
			break
		}
		for _, pub := range v.messages {
			backward = append(backward, pub.Offset)
		}
		filter.Since = &centrifuge.StreamPosition{Offset: backward[len(backward)-1], Epoch: "e1"}
	}
	slices.Reverse(backward)
	var want []uint64
	for id := uint64(11); id <= messages; id++ {
		want = append(want, id)
	}
	if !slices.Equal(forward, want) || !slices.Equal(backward, want) {
		t.Errorf("forward %s, backward %s", ends(forward), ends(backward))
	}
	s.histories.bytes.Add(windowsMax) // as if other threads had it
	s.histories.makeRoom()
	if got := s.histories.bytes.Load(); got != windowsMax {
		t.Errorf("%d bytes are kept when there is no room", got-windowsMax)
	}
}

func ends(list []uint64) string {
	return fmt.Sprint(len(list), " from ", list[0], " to ", list[len(list)-1])
}
