// Command blocklist-gen writes a made-up list of invalid passports, the same for the same flags. It has the
// size and the form of the published one: numbers stand in runs, as passports are issued.
//
//	go run ./scripts/blocklist-gen > list.csv.bz2
//	go run ./scripts/blocklist-gen -rows 1000000 -plain > list.csv
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"

	"flashsale/internal/config"
	"flashsale/internal/store/child"
)

const usage = `blocklist-gen writes a made-up list of invalid passports to standard output, packed by bzip2.
A flag wins over its environment name, which stands in brackets.
`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "blocklist-gen:", err)
		os.Exit(1)
	}
}

// run reads the flags and writes the list to out.
func run(arguments []string, out io.Writer) error {
	var l list
	var plain bool
	flags := config.NewFlags("blocklist-gen")
	flags.Group("List")
	flags.Number(&l.rows, "rows", 130_000_000, 1, 1_000_000_000, "`number` of rows, malformed ones included")
	flags.Number(&l.malformed, "malformed", 10_000, 0, 1_000_000_000, "`number` of them that are malformed")
	flags.Number(&l.series, "series", 3389, 1, 10_000, "`number` of series")
	flags.Number(&l.seed, "seed", 1, 0, 1<<31-1, "`number` that chooses the documents")
	flags.Switch(&plain, "plain", "do not pack the list")
	flags.Check(func() error { return l.check() })
	if err := flags.Parse(arguments, out, usage); err != nil {
		return err
	}
	if plain {
		return write(out, &l)
	}
	return pack(out, &l)
}

// pack writes the list through bzip2.
func pack(out io.Writer, l *list) error {
	cmd := exec.Command("bzip2", "-c")
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("cannot start bzip2: %w; install it, or use -plain", err)
	}
	err = write(in, l)
	return errors.Join(err, in.Close(), cmd.Wait())
}

func write(out io.Writer, l *list) error {
	buffered := bufio.NewWriterSize(out, 1<<20)
	if err := l.write(buffered); err != nil {
		return fmt.Errorf("cannot write the list: %w", err)
	}
	return buffered.Flush()
}

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
