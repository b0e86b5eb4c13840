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
	at := place{table: path + ":"}
	columns, err := readHeader(reader, &at, t)
	if err != nil {
		return err
	}
	fields := t.fields()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cannot read catalogue: %w", err)
		}
		record, err := readRecord(reader, &at)
		switch {
		case errors.Is(err, io.EOF) && end.last != '\n':
			return cutOff(fmt.Sprintf("%s ends in the middle of line %d; end it with a line break if it is whole",
				path, at.row))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(record) != len(columns):
			return fmt.Errorf("%v: %d columns; the header names %d", at, len(record), len(columns))
		}
		for i, column := range columns {
			fields[i] = record[column]
			// A person who logs in types no such space, and in the file it cannot be seen.
			if strings.TrimSpace(fields[i]) != fields[i] {
				return fmt.Errorf("%v: %s begins or ends with white space; remove it", at, t.column(i))
			}
		}
		if err := visit(at, fields); err != nil {
			return err
		}
	}
}

// readHeader returns for each column of t, and for the optional one if it is there, its position in the
// file.
func readHeader(reader *csv.Reader, at *place, t table) ([]int, error) {
	header, err := readRecord(reader, at)
	if errors.Is(err, io.EOF) {
		at.row = 1
		header, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(header) > 0 {
		header[0] = strings.TrimPrefix(header[0], byteOrderMark)
	}
	columns := t.columns
	if t.optional != "" && slices.Contains(header, t.optional) {
		columns = append(slices.Clip(columns), t.optional)
	}
	positions := make([]int, len(columns))
	wrong := len(header) != len(columns)
	for i, column := range columns {
		positions[i] = slices.Index(header, column)
		wrong = wrong || positions[i] < 0
	}
	if wrong {
		return nil, fmt.Errorf("%v: header is %.80q; write %s in any order", *at,
			strings.Join(header, ","), strings.Join(t.columns, ","))
	}
	return positions, nil
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
