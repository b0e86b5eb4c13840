package blocklist

import (
	"encoding/binary"
)

// index has the place of each container of each series in the bytes of a snapshot. A container holds the
// numbers of a series that have the same upper 16 bits.
//
// It takes the place of roaring's own structures, because a document drawn at random costs little but the
// waits for memory. There, the way from a series to its numbers leads over five pointers. Here it is two
// loads, the first nearly always from the cache, and then the search in the snapshot itself. The
// searches of many documents go on step by step side by side, so that their waits overlap.
type index struct {
	snapshot []byte
	// slots has the place in containers of each series. The first place is that of all series without
	// documents; its containers are empty.
	slots      [seriesCount]uint16
	containers [][seriesContainers]container
}

const (
	seriesContainers = (numbersCount-1)>>16 + 1
	sideBySide       = 250 // searches, enough to hide the waits of each behind the others; fits uint8
	around           = 8   // elements on both sides of a guess: together a line of the cache, if they are runs
)

// container is one of roaring's containers in the snapshot.
type container struct {
	at    uint32 // first byte
	count uint16 // values of an array, or runs, or 1 bitmap
	kind  kind
}

// kind is how a container holds its values. Of each value it has the lower 16 bits.
type kind uint8

const (
	empty  kind = iota
	array       // values in ascending order, two bytes each
	runs        // first value and how many follow, in ascending order, four bytes each
	bitmap      // a bit for each value
)

// bytesOf is the size of an element.
var bytesOf = [...]uint32{empty: 0, array: 2, runs: 4, bitmap: bitmapBytes}

// search looks for a value among the elements of a container.
type search struct {
	value uint16
	kind  kind
	at    uint32 // the first element that can have the value
	left  uint32 // elements from there on that can
}

// begin starts the search for a document. The kind of a document that cannot be listed is empty.
func (x *index) begin(d Document) search {
	if d >= seriesCount*numbersCount {
		return search{}
	}
	series, number := d.series(), d.number()
	c := x.containers[x.slots[series]][number>>16]
	return search{value: uint16(number), kind: c.kind, at: c.at, left: uint32(c.count)}
}

// guess narrows the search down to the elements around the right one for evenly spread values. If they are,
// as in a long list, all further steps stay within two lines of the cache. If they are not, one of the two
// splits leaves more elements, and the search is longer but right.
func (s *search) guess(snapshot []byte) {
	likely := uint32(s.value) * s.left >> 16
	s.split(snapshot, max(likely, around)-around)
	s.split(snapshot, min(2*around, s.left/2))
}

// step halves what is left.
func (s *search) step(snapshot []byte) { s.split(snapshot, s.left/2) }

// split compares the element n. The search goes on from there or, if that value is too great, before it. It
// has no branch that depends on the list: a processor would guess half of them wrongly.
func (s *search) split(snapshot []byte, n uint32) {
	at, left := s.at, n
	middle := at + n*bytesOf[s.kind]
	if binary.LittleEndian.Uint16(snapshot[middle:]) <= s.value {
		at, left = middle, s.left-n
	}
	s.at, s.left = at, left
}

// found reports whether the one element that is left has the value.
func (s *search) found(snapshot []byte) bool {
	switch s.kind {
	case array:
		return binary.LittleEndian.Uint16(snapshot[s.at:]) == s.value
	case runs:
		first := binary.LittleEndian.Uint16(snapshot[s.at:])
		return first <= s.value && s.value-first <= binary.LittleEndian.Uint16(snapshot[s.at+2:])
	case bitmap:
		return snapshot[s.at+uint32(s.value)/8]>>(s.value%8)&1 != 0
	}
	return false
}

// contains reports whether a document is listed.
func (x *index) contains(d Document) bool {
	s := x.begin(d)
	if s.kind == empty {
		return false
	}
	for s.guess(x.snapshot); s.left > 1; {
		s.step(x.snapshot)
	}
	return s.found(x.snapshot)
}

// mark sets listed[i] if documents[i] is listed. There are at most sideBySide of them.
func (x *index) mark(documents []Document, listed []bool) {
	var searches [sideBySide]search
	var of [sideBySide]uint8 // the document of each search
	count, most := 0, uint32(0)
	for i, d := range documents {
		searches[count], of[count] = x.begin(d), uint8(i)
		if searches[count].kind != empty {
			count++
		}
	}
	for i := range searches[:count] {
		searches[i].guess(x.snapshot)
		most = max(most, searches[i].left)
	}
	for ; most > 1; most -= most / 2 {
		for i := range searches[:count] {
			searches[i].step(x.snapshot)
		}
	}
	for i := range searches[:count] {
		listed[of[i]] = searches[i].found(x.snapshot)
	}
}
