package eventloop

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// clock is a wheel with the ticks at which connections were overdue.
type clock struct {
	wheel
	conns map[*conn]string
	ended map[string]int64
}

func newClock() *clock {
	return &clock{wheel: wheel{begin: time.Unix(0, 0)}, conns: map[*conn]string{}, ended: map[string]int64{}}
}

func (w *clock) open(name string, limit time.Duration) *conn {
	c := &conn{deadline: w.after(limit)}
	w.conns[c] = name
	w.add(c)
	return c
}

// to moves the wheel on to a second.
func (w *clock) to(second int64) {
	for w.tick < second {
		w.turn(w.next(), func(c *conn) {
			w.ended[w.conns[c]] = w.tick
			w.remove(c)
		})
	}
}

func (w *clock) want(t *testing.T, ended map[string]int64) {
	t.Helper()
	if !maps.Equal(w.ended, ended) {
		t.Errorf("ended are %v, want %v", w.ended, ended)
	}
	listed := 0
	for i, c := range w.slots {
		for previous := (*conn)(nil); c != nil; previous, c = c, c.next {
			listed++
			if c.previous != previous || c.slot%wheelSlots != int64(i) || c.slot <= w.tick {
				t.Errorf("%q stands wrong in slot %d at tick %d", w.conns[c], i, w.tick)
			}
		}
	}
	if n := len(w.conns) - len(ended); listed != n {
		t.Errorf("%d connections are listed, want %d", listed, n)
	}
}

// A limit ends within a second after its time, at whatever tick it began.
func TestWheel(t *testing.T) {
	for begin := range int64(2 * wheelSlots) {
		w := newClock()
		w.to(begin)
		want := map[string]int64{}
		for i, seconds := range []int64{10, 1, 75, 5, 5} {
			name := fmt.Sprint(i, ": ", seconds)
			w.open(name, time.Duration(seconds)*time.Second)
			want[name] = begin + seconds + 1
		}
		w.open("without", 0)
		w.to(begin + 300)
		w.want(t, want)
	}
}

func TestWheelMoves(t *testing.T) {
	for name, test := range map[string]struct {
		limits []time.Duration // in seconds, each given 3 seconds after the one before
		end    int64           // 0 for none
	}{
		"on":               {[]time.Duration{10, 75}, 3 + 76},
		"on and on":        {[]time.Duration{5, 5, 5}, 6 + 6},
		"nearer":           {[]time.Duration{75, 5}, 3 + 6},
		"nearer and on":    {[]time.Duration{75, 5, 75}, 6 + 76},
		"on and nearer":    {[]time.Duration{10, 75, 5}, 6 + 6},
		"to the same tick": {[]time.Duration{8, 5}, 3 + 6},
		"to none":          {[]time.Duration{5, 0}, 0},
		"from none":        {[]time.Duration{0, 5}, 3 + 6},
		"none and back":    {[]time.Duration{75, 0, 5}, 6 + 6},
	} {
		t.Run(name, func(t *testing.T) {
			w := newClock()
			want := map[string]int64{"5": 6, "10": 11, "75": 76} // its neighbours
			w.open("5", 5*time.Second)
			w.open("10", 10*time.Second)
			c := w.open("c", test.limits[0]*time.Second)
			w.open("75", 75*time.Second)
			w.open("none", 0)
			for i, limit := range test.limits[1:] {
				w.to(int64(3 * (i + 1)))
				w.limit(c, limit*time.Second)
			}
			w.to(1000)
			if test.end > 0 {
				want["c"] = test.end
			}
			w.want(t, want)
		})
	}
}

// What stands in one slot can leave it in any order.
func TestWheelRemove(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		w := newClock()
		conns := []*conn{w.open("a", time.Second), w.open("b", time.Second), w.open("c", time.Second)}
		for _, i := range order {
			w.remove(conns[i])
			delete(w.conns, conns[i])
			w.want(t, nil)
		}
	}
}

// A connection that is used again and again is touched once in its time.
func TestWheelCostsNothingInUse(t *testing.T) {
	w := newClock()
	c := w.open("c", 75*time.Second)
	slot := c.slot
	for range 70 {
		w.to(w.tick + 1)
		w.limit(c, 75*time.Second)
	}
	if c.slot != slot {
		t.Errorf("it was moved from slot %d to %d", slot, c.slot)
	}
	w.to(70 + 76)
	w.want(t, map[string]int64{"c": 146})
}

// A pause of the whole process is not the time of its clients.
func TestWheelAfterAPause(t *testing.T) {
	w := newClock()
	w.open("c", 10*time.Second)
	overdue := func(*conn) { t.Errorf("ended at tick %d", w.tick) }
	w.turn(w.begin.Add(time.Hour+time.Second/2), overdue)
	if w.tick != 1 {
		t.Errorf("tick %d, want 1", w.tick)
	}
	now := time.Unix(0, 0).Add(time.Hour + time.Second/2)
	if left := w.next().Sub(now); left != time.Second/2 {
		t.Errorf("the next tick is %v later, want 0.5s", left)
	}
	w.turn(w.next(), overdue)
	w.to(11)
	w.want(t, map[string]int64{"c": 11})
}
