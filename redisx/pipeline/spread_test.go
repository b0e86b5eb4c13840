package pipeline

import (
	"strconv"
	"testing"
)

// The tags stay as they are for ever: what lies in Redis is found by them.
func TestPartsLieInEqualRangesOfSlots(t *testing.T) {
	for part := range Parts {
		if slot := Slot(PartTag(part)); slot/(clusterSlots/Parts) != part {
			t.Errorf("part %d has the tag %s in slot %d", part, PartTag(part), slot)
		}
	}
	if first, last := PartTag(0), PartTag(Parts-1); first != "{18}" || last != "{48}" {
		t.Errorf("the tags of the first and the last part are %s and %s", first, last)
	}
}

// Names that count up, as users do, come to all parts.
func TestPartsGetEqualNumbersOfNames(t *testing.T) {
	const names = 16000
	var count [Parts]int
	for i := range names {
		count[PartOf(strconv.Itoa(1<<31+i))]++
	}
	for part, n := range count {
		if n < names/Parts*8/10 || n > names/Parts*12/10 {
			t.Errorf("part %d has %d of %d names", part, n, names)
		}
	}
}
