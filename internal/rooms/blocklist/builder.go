package blocklist

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	header      = "PASSP_SERIES,PASSP_NUMBER"
	bufferBytes = 1 << 20 // of lines: a whole block of bzip2, which has 900 KB; a longer line is an error
	rowBytes    = documentBytes + 1
	samplesMax  = 10      // malformed rows in the log
	sampleBytes = 40      // of each at most
	countEvery  = 1 << 12 // rows between two updates of the progress, and two checks of the context
	// Numbers that a series takes before its runs are packed. A list in any order then needs not much more
	// memory than its snapshot, as long as its documents stand in runs.
	packAfter = 8 << 10
)

// builder reads a CSV text of documents into bitmaps. Documents that follow each other are added at once.
type builder struct {
	bitmaps   [seriesCount]*roaring.Bitmap
	unpacked  [seriesCount]uint64 // numbers that were added since the runs were packed
	first     Document            // of the run under way
	next      Document            // after the run under way; the same as first if there is no run
	rows      uint64
	malformed uint64
	seen      atomic.Uint64 // rows, for the progress
}

// read takes all rows of a text with its header line. It skips malformed rows.
func (b *builder) read(ctx context.Context, text io.Reader) error {
	in := bufio.NewReaderSize(text, bufferBytes)
	line, err := readLine(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the list: %w", err)
	}
	if string(line) != header {
		return fmt.Errorf("the list begins with %.*q; it must begin with %s", sampleBytes, line, header)
	}
	for due := uint64(0); ; {
		b.addBuffered(in)
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			b.endRun()
			b.seen.Store(b.rows)
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the list after %d rows: %w", b.rows, err)
		}
		b.addLine(line)
		if b.rows >= due {
			due = b.rows + countEvery
			b.seen.Store(b.rows)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
}

// addBuffered takes rows from what in has buffered, up to the first one that is not a document and a line
// break. It makes an import fast: nearly all rows have this form, and their ends need no search.
func (b *builder) addBuffered(in *bufio.Reader) {
	text, _ := in.Peek(in.Buffered())
	rest := text
	for len(rest) >= rowBytes && rest[documentBytes] == '\n' {
		d, ok := ParseDocument(rest[:documentBytes])
		if !ok {
			break
		}
		b.add(d)
		rest = rest[rowBytes:]
	}
	_, _ = in.Discard(len(text) - len(rest)) // they are buffered
}

// readLine returns the next line without its end, the last one also where that is missing. A line that is
// longer than the buffer is an error: a few packed bytes can hold a line of gigabytes. The error is io.EOF
// after the last line.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("a line is longer than %d bytes", bufferBytes)
	}
	if err != nil && !(errors.Is(err, io.EOF) && len(line) > 0) {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), nil
}

func (b *builder) addLine(line []byte) {
	if d, ok := ParseDocument(line); ok {
		b.add(d)
		return
	}
	b.rows++
	if b.malformed++; b.malformed <= samplesMax {
		slog.Warn("a row of the blocklist is malformed and ignored", "row", b.rows,
			"text", fmt.Sprintf("%.*q", sampleBytes, line))
	}
}

func (b *builder) add(d Document) {
	b.rows++
	if d != b.next || d.number() == 0 {
		b.endRun()
		b.first = d
	}
	b.next = d + 1
}

// endRun adds the run under way to its series.
func (b *builder) endRun() {
	if b.first == b.next {
		return
	}
	series, number, length := b.first.series(), b.first.number(), uint64(b.next-b.first)
	b.first = b.next
	if b.bitmaps[series] == nil {
		b.bitmaps[series] = roaring.New()
	}
	if bitmap := b.bitmaps[series]; length == 1 {
		bitmap.Add(number)
	} else {
		bitmap.AddRange(uint64(number), uint64(number)+length)
	}
	if b.unpacked[series] += length; b.unpacked[series] >= packAfter {
		b.pack(series)
	}
}

func (b *builder) pack(series uint32) {
	b.bitmaps[series].RunOptimize()
	b.unpacked[series] = 0
}

// finish packs the bitmaps and returns the number of documents.
func (b *builder) finish() (stored uint64) {
	for series, bitmap := range b.bitmaps {
		if bitmap != nil {
			b.pack(uint32(series))
			stored += bitmap.GetCardinality()
		}
	}
	return stored
}
