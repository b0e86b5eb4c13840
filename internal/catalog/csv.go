package catalog

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// csvBytesMax bounds one file, because a quote that is never closed makes the rest of the file one field
// in memory.
const csvBytesMax = 1 << 30

// csvFolder is a folder with users.csv and foods.csv: a header row naming the table's columns in any
// order, then rows in any order.
type csvFolder string

// columnsMax bounds the columns of a table: each text may be there in many languages.
const columnsMax = 64

// byteOrderMark is what spreadsheets put before the first column's name.
const byteOrderMark = "\ufeff"

func (f csvFolder) String() string { return "CSV in " + string(f) }

func (f csvFolder) name(t table) string { return filepath.Join(string(f), t.name+"s.csv") }

func (f csvFolder) rows(ctx context.Context, t table, visit rowVisitor) error {
	path := f.name(t)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read catalogue: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot read catalogue: %w", err)
	}
	if info.Size() > csvBytesMax {
		return fmt.Errorf("%s: %d bytes; at most %d are read", path, info.Size(), csvBytesMax)
	}
	return readCSV(ctx, file, path, t, visit)
}

// ending is a text that remembers its last byte.
type ending struct {
	io.Reader
	last byte
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if n > 0 {
		e.last = b[n-1]
	}
	return n, err
}

// readCSV gives the rows of one CSV text, called path in errors, to visit with the fields in the order of
// t.columns. It returns cutOff when all rows are good and no line break follows the last one.
func readCSV(ctx context.Context, text io.Reader, path string, t table, visit rowVisitor) error {
	end := &ending{Reader: text}
	reader := csv.NewReader(bufio.NewReaderSize(end, 1<<16))
	reader.ReuseRecord = true
	reader.FieldsPerRecord = -1 // checked below, with a better message
	r, positions, err := readHeader(reader, path, t)
	if err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cannot read catalogue: %w", err)
		}
		record, err := readRecord(reader, &r.place)
		switch {
		case errors.Is(err, io.EOF) && end.last != '\n':
			return cutOff(fmt.Sprintf("%s ends in the middle of line %d; end it with a line break if it is whole",
				path, r.row))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(record) != len(positions):
			return fmt.Errorf("%v: %d columns; the header names %d", r, len(record), len(positions))
		}
		for i, position := range positions {
			r.fields[i] = record[position]
			// A person who logs in types no such space, and in the file it cannot be seen.
			if strings.TrimSpace(r.fields[i]) != r.fields[i] {
				return fmt.Errorf("%v: %s begins or ends with white space; remove it", r, r.columns[i])
			}
		}
		if err := visit(r); err != nil {
			return err
		}
	}
}

// readHeader makes room for the rows, and returns the position in the file of each column.
func readHeader(reader *csv.Reader, path string, t table) (r *row, positions []int, err error) {
	at := place{table: path + ":"}
	header, err := readRecord(reader, &at)
	if errors.Is(err, io.EOF) {
		at.row = 1
		header, err = nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if len(header) > columnsMax {
		return nil, nil, fmt.Errorf("%v: header names %d columns; at most %d are read", at, len(header),
			columnsMax)
	}
	if len(header) > 0 {
		header[0] = strings.TrimPrefix(header[0], byteOrderMark)
	}
	r = t.row(at.table, slices.DeleteFunc(slices.Clone(header), func(column string) bool {
		return !t.optional.MatchString(column)
	})...)
	wrong := len(header) != len(r.columns)
	for i, column := range r.columns {
		positions = append(positions, slices.Index(header, column))
		wrong = wrong || positions[i] < 0 || slices.Index(r.columns, column) < i
	}
	if wrong {
		return nil, nil, fmt.Errorf("%v: header is %.80q; write %s in any order%s", at,
			strings.Join(header, ","), strings.Join(t.columns, ","), t.others)
	}
	return r, positions, nil
}

// readRecord returns the next record and sets at.row to its first line; its error is io.EOF at the end.
func readRecord(reader *csv.Reader, at *place) ([]string, error) {
	record, err := reader.Read()
	var broken *csv.ParseError
	switch {
	case err == nil:
		at.row, _ = reader.FieldPos(0)
		return record, nil
	case errors.As(err, &broken):
		at.row = broken.Line
		return nil, fmt.Errorf("%v: column %d: %w; fix the quotes", *at, broken.Column, broken.Err)
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, fmt.Errorf("cannot read catalogue: %w", err)
	}
}
