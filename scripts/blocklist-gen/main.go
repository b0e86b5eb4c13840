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
