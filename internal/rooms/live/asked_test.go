package live

import (
	"strings"
	"testing"
	"time"
)

// Root sees the most-hit keys, every 15 s. The public does not, and they are not asked for without root.
func TestTop(t *testing.T) {
	s := openStand(t, 10)
	public := s.join(false, 0)
	public.want(s.hello(s.noOrders()))
	s.pass()
	public.want(quiet(start))
	if s.tops.Load() != 0 {
		t.Error("the keys are asked for without root")
	}
	s.keys = `[{"key":"k","hits":3}]`
	root := s.join(true, 0)
	root.want(s.hello(s.noOrders()))
	s.pass()
	root.want(quiet(start+1) + event("top", start+1, `{"keys":[{"key":"k","hits":3}]}`))
	public.want(quiet(start + 1))
	second := s.join(true, 0)
	top := event("top", s.id(), `{"keys":[{"key":"k","hits":3}]}`)
	second.want(strings.Replace(s.hello(s.noOrders()), "event: stock", top+"event: stock", 1))
	for second := int64(start + 2); second < start+beatSeconds+2; second++ {
		s.pass()
	}
	if n := s.tops.Load(); n != 2 {
		t.Errorf("the keys are asked for %d times, want 2", n)
	}
}

// Root sees the refusals that are not public, when they have changed. The public does not.
func TestOthers(t *testing.T) {
	s := openStand(t, 10)
	s.cfg.Top, s.others = nil, `{"refused":{"WRONG_CODE":1},"last_minute":{}}`
	s.pass()
	public, root := s.join(false, 0), s.join(true, 0)
	public.want(s.hello(s.noOrders()))
	first := event("refused", s.id(), s.others)
	root.want(strings.Replace(s.hello(s.noOrders()), "event: stock", first+"event: stock", 1))
	s.pass()
	root.want(quiet(start + 1))
	s.others = `{"refused":{"WRONG_CODE":2},"last_minute":{"WRONG_CODE":1}}`
	s.pass()
	root.want(quiet(start+2) + event("refused", start+2, s.others))
	public.want(quiet(start+1) + quiet(start+2))
}

// However many viewers there are and however often they come, Redis is asked once a second, and without any
// not at all.
func TestLooks(t *testing.T) {
	s := openStand(t, 100)
	for range 5 {
		s.pass()
	}
	if n := s.looks.Load(); n != 0 {
		t.Errorf("Redis is asked %d times without a viewer", n)
	}
	for range 50 {
		s.join(false, 0)
	}
	for range 5 {
		s.pass()
	}
	if n := s.looks.Load(); n != 6 {
		t.Errorf("Redis is asked %d times for the first viewer and in 5 seconds, want 6", n)
	}
}

// A viewer who opens and closes the stream again and again has nothing asked twice in a second, and sees
// what was answered in it.
func TestReloads(t *testing.T) {
	s := openStand(t, 10)
	s.keys = `[{"key":"k","hits":3}]`
	for second := int64(1); second <= 3; second++ {
		for reload := range 5 {
			root, hello := s.join(true, 0), s.hello(s.noOrders())
			if looks, tops := s.looks.Load(), s.tops.Load(); looks != second || tops != second {
				t.Fatalf("in %d s Redis is asked %d times, and %d times for the keys", second, looks, tops)
			}
			if reload > 0 {
				top := event("top", s.id(), `{"keys":[{"key":"k","hits":3}]}`)
				hello = strings.Replace(hello, "event: stock", top+"event: stock", 1)
			}
			root.want(hello)
			root.Close()
			s.awaitViewers(0)
		}
		s.pass()
	}
}

// What Redis has not answered yet is not known, whenever in a second the first viewer comes. One question
// that has waited for a whole second is an answer.
func TestLateAnswer(t *testing.T) {
	s := openStand(t, 10)
	paceWith := func(redis string) string { return strings.Replace(quiet(s.id()), `"up"`, redis, 1) }
	next := func() {
		s.now = s.now.Add(time.Second)
		s.slot = 0
		s.putUp()
		s.turn(s.now)
	}
	for range 2 { // the second time something was answered long ago
		c := s.enter(Viewer{})
		s.unanswered(func() {
			s.turn(s.now)
			c.want(s.hello(s.noOrders()))
			for _, redis := range []string{"null", `"away"`, `"away"`} {
				next()
				c.want(paceWith(redis))
			}
		})
		s.pass()
		c.want(quiet(s.id()))
		s.unanswered(func() {
			for _, redis := range []string{`"up"`, `"up"`, `"away"`} { // the first is of the last question
				next()
				c.want(paceWith(redis))
			}
		})
		c.Close()
		s.awaitViewers(0)
		s.pass()
	}
}
