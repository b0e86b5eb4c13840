package figures

import "strconv"

// These make the lines of the table.

func line(name, kind, help string, labels []string, read func(*Memory) []Value) *Family {
	f := &Family{Name: "flashsale_" + name, Help: help, Type: kind, Labels: labels, read: read}
	Families = append(Families, f)
	return f
}

// set is a gauge that is set at each scrape.
func set(name, help string, labels ...string) *Family { return line(name, "gauge", help, labels, nil) }

// gauge is a gauge that workers count, with one value at most.
func gauge(name, help string, read func(*Memory) []Value) *Family {
	return line(name, "gauge", help, nil, read)
}

// counter is a counter of all workers together.
func counter(name, help string, of func(*Counters) uint64) *Family {
	return counted(name, help, func(c *Counters) []Value { return number(of(c)) })
}

// counted is a counter of all workers together, by labels.
func counted(name, help string, of func(*Counters) []Value, labels ...string) *Family {
	return line(name, "counter", help, labels, together(of))
}

// measured is a histogram of times of all workers together.
func measured(name, help string, of func(*Counters) []Value, labels ...string) *Family {
	f := line(name, "histogram", help, labels, together(of))
	f.Bounds, f.Unit = DurationBounds[:], 1e9
	return f
}

// sized is a histogram of sizes of all workers together.
func sized(name, help string, of func(*Counters) []Value) *Family {
	f := line(name, "histogram", help, nil, together(of))
	f.Bounds, f.Unit = SizeBounds[:], 1
	return f
}

// each is a gauge by worker. While a worker replaces another one, both count.
func each(name, help string, of func(*Gauges) *Gauge) *Family {
	return perSlot(name, help, "gauge", func(m *Memory, slot int) (sum int64) {
		for _, g := range m.Running(slot) {
			sum += of(g).Value()
		}
		return sum
	})
}

// most is a gauge by worker. While a worker replaces another one, the larger number counts.
func most(name, help string, of func(*Gauges) *Gauge) *Family {
	return perSlot(name, help, "gauge", func(m *Memory, slot int) (largest int64) {
		for _, g := range m.Running(slot) {
			largest = max(largest, of(g).Value())
		}
		return largest
	})
}

// perSlot has a number for each slot, with the label worker.
func perSlot(name, help, kind string, of func(m *Memory, slot int) int64) *Family {
	return line(name, kind, help, []string{"worker"}, func(m *Memory) (values []Value) {
		for slot := range m.slots {
			values = append(values, Value{Labels: []string{strconv.Itoa(slot)}, Number: float64(of(m, slot))})
		}
		return values
	})
}
