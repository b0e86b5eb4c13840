package live

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// count returns what this server has counted since the last call.
func (k *Keeper) count() sums {
	now, placed := ownSums(k.cfg.Figures, k.served)
	last := now.less(&k.own)
	last.orders, last.connections, last.servers = int64(placed-k.placed), now.connections, 1
	k.own, k.placed = now, placed
	return last
}

// write adds the last second of this server to those of all. It reports whether Redis has answered.
func (k *Keeper) write(own *sums) bool {
	orders, first, still := "", "", ""
	if k.own.orders != Unknown {
		orders = strconv.FormatInt(k.own.orders, 10)
	}
	if !k.written {
		first = "1"
	}
	if k.still() {
		still = "1"
	}
	whole := k.own.less(&k.base)
	args := []string{k.cfg.Server, first, whole.counted(), orders, strconv.FormatInt(own.connections, 10),
		still, strconv.Itoa(int(keptFor / time.Second)), strconv.Itoa(serversMax), k.at()}
	for _, t := range tiers {
		args = append(args, strconv.FormatInt(t.step, 10), strconv.FormatInt(t.places, 10))
	}
	var ms int64
	if k.redis.Do(writeScript.Call(&ms, keysOf(k.served), args...)) != nil {
		return false // the connection has logged it
	}
	k.now, k.since, k.written = time.UnixMilli(ms), time.Now(), true
	return true
}

// show reads the last second of all servers and puts it up. Where it has missed seconds, it reads the whole
// curve.
func (k *Keeper) show() {
	second := k.now.Unix() - 1
	var texts map[string]string
	var err error
	if k.read != 0 && k.read == second-1 {
		texts, err = k.readSome(second - 1)
	} else {
		err = k.redis.Do(k.readWhole(&texts))
	}
	if err != nil {
		return // the connection has logged it; the next second reads the whole curve
	}
	current, shown := k.load(texts), int64(0)
	if n := len(k.posted); n > 0 {
		shown = k.posted[n-1].t
	}
	if current.t != 0 && current.t != shown {
		placed := int64(0)
		if k.orders != Unknown && current.orders != Unknown {
			placed = max(current.orders-k.orders, 0)
		}
		k.orders = max(k.orders, current.orders)
		k.pace(&current, placed, &current.serversOf)
	}
	k.post()
}

// showAlone shows a second of this server: Redis is away, and so are the figures of the others.
func (k *Keeper) showAlone(own *sums) {
	own.t, k.read = k.clock().Unix()-1, 0
	k.note(own)
	k.pace(own, own.orders, nil)
	k.post()
}

// readWhole makes the call that reads all figures.
func (k *Keeper) readWhole(texts *map[string]string) *pipeline.Call {
	return pipeline.Command(texts, "HGETALL", keysOf(k.served)[0])
}

// readSome reads the current second, the whole sale, and of each tier the bucket with the second before.
func (k *Keeper) readSome(before int64) (map[string]string, error) {
	fields := []string{"current", "all"}
	for _, t := range tiers {
		fields = append(fields, t.field(before))
	}
	texts := make([]string, len(fields))
	err := k.redis.Do(pipeline.Command(&texts, append([]string{"HMGET", keysOf(k.served)[0]}, fields...)...))
	found := map[string]string{}
	for i, text := range texts {
		found[fields[i]] = text
	}
	return found, err
}

// load takes what was read, and returns the current second.
func (k *Keeper) load(texts map[string]string) (current sums) {
	for i, t := range tiers {
		for field, text := range texts {
			if !t.has(field) {
				continue
			}
			bucket := parseSums(text)
			k.curve.put(i, &bucket)
			if i == 0 {
				k.note(&bucket)
			}
		}
	}
	current, k.curve.all = parseSums(texts["current"]), parseSums(texts["all"])
	all := &k.curve.all
	if k.orders == Unknown {
		k.orders = max(all.orders, 0) // what was before the first second counts in that
	}
	if current.t == 0 {
		return current
	}
	if all.since == 0 {
		all.since, all.before = current.t, max(current.orders, 0)
	}
	if all.t == current.t-1 && all.orders != Unknown { // as write.lua will
		all.peak = max(all.peak, current.orders-all.orders)
	}
	all.add(&current)
	k.note(&current)
	if !k.still() {
		k.curve.put(0, &current)
	}
	k.read = current.t
	return current
}

// note keeps a second for what viewers see of the last minute.
func (k *Keeper) note(s *sums) {
	if place := &k.recent[s.t%minuteSeconds]; s.t >= place.t || s.t < place.t-minuteSeconds {
		*place = *s
	}
}

// last sums up the last seconds up to one.
func (k *Keeper) last(seconds, end int64) *sums {
	sum := parseSums("")
	for i := range k.recent {
		if s := &k.recent[i]; s.t > end-seconds && s.t <= end {
			sum.add(s)
		}
	}
	return &sum
}

// lastMinute is the public refusals of each second of the minute up to one.
func (k *Keeper) lastMinute(end int64) []refusals {
	list := []refusals{}
	for t := max(end-minuteSeconds, 0) + 1; t <= end; t++ {
		if s := &k.recent[t%minuteSeconds]; s.t == t {
			if refused := only(true, s.refused); len(refused) > 0 {
				list = append(list, refusals{t, refused})
			}
		}
	}
	return list
}

// pace appends a second to those on the board. of is how many servers there should be, nil where that is
// not known.
func (k *Keeper) pace(s *sums, orders int64, of *int64) {
	p := pace{Second: s.t, Orders: orders, Refused: only(true, s.refused), Connections: s.connections,
		Servers: s.servers, ServersOf: of, Second99: short(pointOf(s).p99), Still: k.still()}
	recent := k.last(timeSeconds, s.t)
	for share, into := range map[float64]**float64{0.5: &p.P50, 0.99: &p.P99} {
		if ms, ok := recent.quantile(share); ok {
			ms = short(ms)
			*into = &ms
		}
	}
	k.mu.Lock()
	if k.sale == k.served {
		p.Marks, k.unshown = k.unshown, nil
	}
	k.mu.Unlock()
	text, err := json.Marshal(p)
	if err != nil { // only for a float that is no number
		panic(err)
	}
	if k.posted = append(k.posted, posted{s.t, text}); len(k.posted) > pacesMax {
		k.posted = slices.Delete(k.posted, 0, 1)
	}
}

// post puts up the board: with fewer tiers where the curve is too long for it.
func (k *Keeper) post() {
	k.mu.Lock()
	marks := []Mark{}
	if k.sale == k.served {
		marks = append(marks, k.marks...)
	}
	k.mu.Unlock()
	end := k.curve.end
	if n := len(k.posted); n > 0 {
		end = k.posted[n-1].t
	}
	others := k.others(end)
	for atMost := len(tiers); atMost > 0; atMost-- {
		p := k.curve.past(atMost)
		p.Minute, p.Marks = k.lastMinute(end), marks
		history, err := json.Marshal(p)
		if err != nil { // only for a float that is no number
			panic(err)
		}
		if k.cfg.Figures.Board().Write(boardText(k.served, history, others, k.posted)) {
			return
		}
	}
	slog.Warn("the live view shows an old curve: the figures of the sale are too long")
}
