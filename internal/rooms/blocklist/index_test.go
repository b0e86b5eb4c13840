package blocklist

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"flashsale/internal/testkit"
)

// manySeries is the number of series of random documents: the race detector makes them slow, and there is
// nothing that could race.
var manySeries = map[bool]int{false: 30, true: 4}[testkit.Race]

// oddBitmaps gives series of every kind of container, of every size of bitmap, and with both edges.
func oddBitmaps(dice *rand.Rand) *[seriesCount]*roaring.Bitmap {
	var bitmaps [seriesCount]*roaring.Bitmap
	add := func(series int, fill func(b *roaring.Bitmap)) {
		bitmaps[series] = roaring.New()
		fill(bitmaps[series])
	}
	some := func(b *roaring.Bitmap, count, from, to int) {
		for range count {
			b.Add(uint32(from + dice.IntN(to-from)))
		}
	}
	add(0, func(b *roaring.Bitmap) { b.AddMany([]uint32{0, numbersCount - 1}) })
	add(1, func(b *roaring.Bitmap) { b.AddRange(0, numbersCount) })                       // full bitmaps
	add(2, func(b *roaring.Bitmap) { b.AddRange(0, numbersCount); b.RunOptimize() })      // one run each
	add(3, func(*roaring.Bitmap) {})                                                      // no container
	add(4, func(b *roaring.Bitmap) { some(b, 100_000, 65_536, 131_072) })                 // a bitmap
	add(5, func(b *roaring.Bitmap) { some(b, 500, numbersCount-600, numbersCount) })      // an array at the end
	add(6, func(b *roaring.Bitmap) { b.AddRange(65_530, 65_540); b.RunOptimize() })       // without offsets
	add(7, func(b *roaring.Bitmap) { some(b, arrayMax, 0, 1<<16) })                       // a full array
	add(8, func(b *roaring.Bitmap) { some(b, 3000, 0, 100); some(b, 50, 60_000, 1<<16) }) // unevenly spread
	add(seriesCount-1, func(b *roaring.Bitmap) { b.Add(numbersCount - 1) })
	for series := 10; series < 10+manySeries; series++ {
		add(series, func(b *roaring.Bitmap) {
			some(b, dice.IntN(20_000), 0, numbersCount)
			for range dice.IntN(3000) {
				from := dice.IntN(numbersCount)
				b.AddRange(uint64(from), uint64(min(from+dice.IntN(50), numbersCount)))
			}
			some(b, dice.IntN(3)*20_000, 131_072, 196_608)
			if series%4 > 0 {
				b.RunOptimize()
			}
		})
	}
	return &bitmaps
}

// The index finds exactly what roaring finds, one by one and side by side.
func TestIndexFindsWhatRoaringFinds(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	bitmaps := oddBitmaps(dice)
	info := Info{}
	for _, bitmap := range bitmaps {
		if bitmap != nil {
			info.Stored += bitmap.GetCardinality()
		}
	}
	var snapshot bytes.Buffer
	testkit.Must(t, writeSnapshot(&snapshot, info, bitmaps))
	list, err := view(snapshot.Bytes())
	testkit.Must(t, err)
	var documents []Document
	for series := range 15 + manySeries {
		for _, at := range []int{0, 65_535, 65_536, 131_072, 196_607, numbersCount - 1} {
			documents = append(documents, Document(series*numbersCount+at))
		}
		for range 2000 {
			documents = append(documents, Document(series*numbersCount+dice.IntN(numbersCount)))
		}
		if bitmap := bitmaps[series]; bitmap != nil && !bitmap.IsEmpty() {
			for range 2000 { // what is listed, and its neighbours
				number, err := bitmap.Select(uint32(dice.Uint64N(bitmap.GetCardinality())))
				testkit.Must(t, err)
				d := Document(series*numbersCount + int(number))
				documents = append(documents, d, d+1, max(d, 1)-1)
			}
		}
	}
	documents = append(documents, seriesCount*numbersCount-1, seriesCount*numbersCount, 1<<63)
	dice.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	listed := make([]bool, len(documents))
	for i := range listed {
		listed[i] = i%2 == 0 // what stood there does not count
	}
	list.Mark(documents, listed)
	for i, d := range documents {
		want := d.series() < seriesCount && d < seriesCount*numbersCount && bitmaps[d.series()] != nil &&
			bitmaps[d.series()].Contains(d.number())
		if list.Contains(d) != want || listed[i] != want {
			t.Fatalf("%d is listed: %v and %v, want %v", d, list.Contains(d), listed[i], want)
		}
	}
}

// A bitmap that is cut, goes on, or holds what no series can hold is refused.
func TestIndexRefusesOddBitmaps(t *testing.T) {
	add := func(bitmap []byte) error {
		x := index{snapshot: bitmap, containers: make([][seriesContainers]container, 1)}
		_, err := x.add(0, 0, uint32(len(bitmap)))
		return err
	}
	bytesOf := func(fill func(b *roaring.Bitmap)) []byte {
		bitmap := roaring.New()
		fill(bitmap)
		text, err := bitmap.ToBytes()
		testkit.Must(t, err)
		return text
	}
	for name, whole := range map[string][]byte{
		"array":  bytesOf(func(b *roaring.Bitmap) { b.AddMany([]uint32{1, 3, 70_000}) }),
		"runs":   bytesOf(func(b *roaring.Bitmap) { b.AddRange(10, 70_000); b.RunOptimize() }),
		"bitmap": bytesOf(func(b *roaring.Bitmap) { b.AddRange(10, 70_000) }),
	} {
		testkit.Must(t, add(whole))
		for n := range min(len(whole), 100) {
			if add(whole[:n]) == nil || add(whole[:len(whole)-n-1]) == nil {
				t.Errorf("%s cut at %d or by that is taken", name, n)
			}
		}
		if add(append(bytes.Clone(whole), 0)) == nil {
			t.Errorf("%s with one more byte is taken", name)
		}
	}
	for name, bitmap := range map[string][]byte{
		"number 1000000": bytesOf(func(b *roaring.Bitmap) { b.Add(numbersCount) }),
		"a run to it": bytesOf(func(b *roaring.Bitmap) {
			b.AddRange(999_990, numbersCount+1)
			b.RunOptimize()
		}),
		"a bit at it":    bytesOf(func(b *roaring.Bitmap) { b.AddRange(990_000, numbersCount+1) }),
		"series 1 << 16": bytesOf(func(b *roaring.Bitmap) { b.Add(1 << 31) }),
		"no order":       {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 5, 0, 4, 0},
	} {
		if add(bitmap) == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
