package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
)

const (
	header     = "PASSP_SERIES,PASSP_NUMBER\n"
	numbers    = 1_000_000 // of a series
	seriesMax  = 10_000
	runMean    = 16  // consecutive numbers, on average
	fullestPct = 50  // of the numbers of a series that may be listed
	runMax     = 400 // the longest run
)

// list is the size of a list.
type list struct{ rows, malformed, series, seed int }

func (l *list) check() error {
	if l.malformed > l.rows {
		return fmt.Errorf("-malformed is %d; it must be at most -rows, %d", l.malformed, l.rows)
	}
	if most := l.series * numbers / 100 * fullestPct; l.rows-l.malformed > most {
		return fmt.Errorf("-rows is %d; %d series hold at most %d", l.rows, l.series, most)
	}
	return nil
}

// stretch is some consecutive numbers.
type stretch struct{ first, length int }

// write writes the list: one series after the other in any order, the runs of each in any order.
func (l *list) write(out *bufio.Writer) error {
	dice := rand.New(rand.NewPCG(uint64(l.seed), 0))
	good := l.rows - l.malformed
	if _, err := out.WriteString(header); err != nil {
		return err
	}
	line := make([]byte, 0, 16)
	for i, series := range dice.Perm(seriesMax)[:l.series] {
		for range share(l.malformed, i, l.series) {
			if _, err := out.WriteString(malformed(dice)); err != nil {
				return err
			}
		}
		for _, r := range runs(dice, share(good, i, l.series)) {
			for number := r.first; number < r.first+r.length; number++ {
				line = appendDigits(line[:0], series, 4)
				line = appendDigits(append(line, ','), number, 6)
				if _, err := out.Write(append(line, '\n')); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// share is part i of a whole in equal parts.
func share(whole, i, parts int) int { return whole*(i+1)/parts - whole*i/parts }

// runs returns runs of count numbers in all, in any order.
func runs(dice *rand.Rand, count int) []stretch {
	var list []stretch
	for left := count; left > 0; {
		length := min(1+int(dice.ExpFloat64()*runMean), runMax, left)
		list = append(list, stretch{length: length})
		left -= length
	}
	free := numbers - count
	first := 0
	for i := range list {
		mean := free / (len(list) - i)
		gap := min(1+dice.IntN(2*mean+1), free) // at least 1, else two runs would be one
		free -= gap
		list[i].first = first + gap
		first = list[i].first + list[i].length
	}
	dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// malformed makes a row that is no document; the published list has such rows.
func malformed(dice *rand.Rand) string {
	switch dice.IntN(4) {
	case 0:
		return fmt.Sprintf("%04d,%07d\n", dice.IntN(seriesMax), dice.IntN(10*numbers))
	case 1:
		return fmt.Sprintf("%03d,%06d\n", dice.IntN(1000), dice.IntN(numbers))
	case 2:
		return fmt.Sprintf("XXIV-%c,%06d\n", 'A'+dice.IntN(26), dice.IntN(numbers))
	}
	return "\n"
}

func appendDigits(dst []byte, n, digits int) []byte {
	dst = append(dst, "000000"[:digits]...)
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] += byte(n % 10)
		n /= 10
	}
	return dst
}
