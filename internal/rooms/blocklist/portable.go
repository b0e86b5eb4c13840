package blocklist

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Roaring's portable format, https://github.com/RoaringBitmap/RoaringFormatSpec. All integers are
// little-endian. After the containers' heads stand their offsets, which are not needed, and the containers.
const (
	cookiePlain = 12346 // uint32, then the number of containers
	cookieRuns  = 12347 // uint16, then the number of containers - 1, then a bit for each: does it hold runs
	headBytes   = 4     // of a container: upper 16 bits of its values, number of its values - 1
	offsetBytes = 4
	offsetsFrom = 4    // containers, with cookieRuns; there are always offsets with cookiePlain
	arrayMax    = 4096 // values; a container with more is a bitmap, if it does not hold runs
	bitmapBytes = 1 << 16 / 8
)

// add reads the bitmap of a series, which is snapshot[from:to], and returns how many documents it has. Each
// length and each value is checked: a search relies on them.
func (x *index) add(series int, from, to uint32) (documents uint64, err error) {
	in := reader{rest: x.snapshot[from:to], at: from}
	size, runMarks := in.sizeAndMarks()
	heads := in.take(headBytes * size)
	if runMarks == nil || size >= offsetsFrom {
		in.take(offsetBytes * size)
	}
	if in.short || size > seriesContainers {
		return 0, fmt.Errorf("its bitmap of %d containers does not fit", size)
	}
	x.slots[series] = uint16(len(x.containers))
	x.containers = append(x.containers, [seriesContainers]container{})
	slot := &x.containers[len(x.containers)-1]
	end := -1 // key of the container before
	for i := range size {
		key, values := int(binary.LittleEndian.Uint16(heads[headBytes*i:])),
			int(binary.LittleEndian.Uint16(heads[headBytes*i+2:]))+1
		if key <= end || key >= seriesContainers {
			return 0, fmt.Errorf("it has a container %d after %d", key, end)
		}
		c := in.container(values, runMarks != nil && runMarks[i/8]>>(i%8)&1 != 0)
		if in.short {
			return 0, fmt.Errorf("container %d goes beyond the end", key)
		}
		limit := min(numbersCount-key<<16, 1<<16)
		if n := c.check(x.snapshot, limit); n != values {
			return 0, fmt.Errorf("container %d has %d values in order; it claims %d", key, n, values)
		}
		slot[key], end = c, key
		documents += uint64(values)
	}
	if len(in.rest) > 0 {
		return 0, fmt.Errorf("%d bytes follow its bitmap", len(in.rest))
	}
	return documents, nil
}

// reader takes the parts of a bitmap one after the other. The first one that is missing makes it short, and
// all that are taken from then on are nil.
type reader struct {
	rest  []byte
	at    uint32 // where rest begins in the snapshot
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.short = nil, true
		return nil
	}
	part := r.rest[:n]
	r.rest, r.at = r.rest[n:], r.at+uint32(n)
	return part
}

func (r *reader) uint16() int {
	part := r.take(2)
	if part == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint16(part))
}

// sizeAndMarks takes the number of containers, and the bits that mark containers with runs, which may be
// nil. The reader is short if it is no bitmap.
func (r *reader) sizeAndMarks() (size int, marks []byte) {
	switch cookie, next := r.uint16(), r.uint16(); {
	case cookie == cookieRuns:
		return next + 1, r.take((next + 8) / 8)
	case cookie == cookiePlain && next == 0:
		size = r.uint16()
		if r.uint16() == 0 {
			return size, nil
		}
	}
	r.short = true
	return 0, nil
}

// container takes a container that claims a number of values.
func (r *reader) container(values int, hasRuns bool) container {
	c := container{at: r.at, count: 1, kind: bitmap}
	switch {
	case hasRuns:
		c.kind, c.count = runs, uint16(r.uint16())
		c.at = r.at
	case values <= arrayMax:
		c.kind, c.count = array, uint16(values)
	}
	r.take(int(c.count) * int(bytesOf[c.kind]))
	return c
}

// check returns the number of values of a container, -1 if they are not in ascending order or not below the
// limit.
func (c container) check(snapshot []byte, limit int) (values int) {
	data := snapshot[c.at:][:int(c.count)*int(bytesOf[c.kind])]
	end := 0 // after the greatest value so far
	switch c.kind {
	case array:
		for ; len(data) > 0; data = data[2:] {
			value := int(binary.LittleEndian.Uint16(data))
			if value < end {
				return -1
			}
			end = value + 1
		}
		values = int(c.count)
	case runs:
		for ; len(data) > 0; data = data[4:] {
			first, more := int(binary.LittleEndian.Uint16(data)), int(binary.LittleEndian.Uint16(data[2:]))
			if first < end {
				return -1
			}
			end = first + more + 1
			values += more + 1
		}
	case bitmap:
		for at := 0; at < len(data); at += 8 {
			if word := binary.LittleEndian.Uint64(data[at:]); word != 0 {
				end = 8*at + bits.Len64(word)
				values += bits.OnesCount64(word)
			}
		}
	}
	if end > limit {
		return -1
	}
	return values
}
