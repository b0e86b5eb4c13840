package operators

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"flashsale/internal/wholefile"
)

const (
	fileBytesMax = 4 << 20 // NumberMax operators take 3 MB
	othersMay    = 0o077   // rights of others than the file's owner
)

// readFile reads a file of CSV. Its first line names the columns, in any order.
func readFile(name string) ([]Operator, error) {
	text, err := readText(name)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("%s is empty or ends within a line; end it with a line break if it is whole", name)
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = len(columns)
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	places := make([]int, len(columns))
	for i, column := range columns {
		if places[i] = slices.Index(head, column); places[i] < 0 {
			return nil, fmt.Errorf("%s: its first line must name the columns %q", name, columns)
		}
	}
	var list []Operator
	row := make([]string, len(columns))
	for {
		found, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		for i, place := range places {
			row[i] = found[place]
		}
		o, err := parse(row)
		if err == nil {
			list, err = add(list, o)
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

// readText reads a file that others should not read: it has secrets.
func readText(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the operators: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read the operators: %w", err)
	}
	if info.Mode()&othersMay != 0 {
		slog.Warn("others may read or write the file of the operators, which has secrets: chmod 600", "file", name,
			"mode", info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(file, fileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the operators: %w", err)
	}
	if len(text) > fileBytesMax {
		return nil, fmt.Errorf("%s has more than %d bytes", name, fileBytesMax)
	}
	return text, nil
}

// Change lets edit make another list of that in a file, and writes it. A file that is not there has nobody
// in it. No other command changes it meanwhile, and readers see the old file or the new one.
func Change(name string, edit func([]Operator) ([]Operator, error)) (err error) {
	unlock, err := lock(name + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	list, err := readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		list, err = nil, nil
	}
	if err == nil {
		list, err = edit(list)
	}
	if err != nil {
		return err
	}
	return write(name, list)
}

// lock takes a lock file. It stays, so that two programs never lock two files of one name.
func lock(name string) (unlock func(), err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the operators: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot lock the operators: %w", err)
	}
	return func() { file.Close() }, nil
}

// write replaces a file.
func write(name string, list []Operator) error {
	return wholefile.Write(name, func(draft *os.File) error {
		w := csv.NewWriter(draft)
		_ = w.Write(columns)
		for i := range list {
			_ = w.Write(list[i].fields()) // Error has it
		}
		w.Flush()
		if err := errors.Join(w.Error(), keepOwner(draft, name)); err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
		return nil
	})
}

// keepOwner has root give a draft the owner of the file, or of its folder if there is no file yet: the
// server may run as another user.
func keepOwner(draft *os.File, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(name))
	}
	if err != nil {
		return err
	}
	of := info.Sys().(*syscall.Stat_t) // as on every Linux
	return draft.Chown(int(of.Uid), int(of.Gid))
}
