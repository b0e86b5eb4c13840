package blocklist

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"flashsale/internal/testkit"
)

var documentLine = regexp.MustCompile(`^[0-9]{4},[0-9]{6}$`)

// FuzzRead holds the reader of lists to a regular expression: rows, malformed ones and documents.
func FuzzRead(f *testing.F) {
	f.Add("1234,123456\n1234,123457\r\n1234,1234567\n\nx")
	f.Add("9999,999999\n0000,000000\n0000,999999\n0001,000000\n1234,123456\n1234,123456")
	f.Add("0001,999998\n0001,999999\n0002,000000\n0002,000001\n0002,00000x\n0002,000003\n0002,000004")
	f.Add("1234,123456\r\r\n\r\n\x00")
	f.Fuzz(func(t *testing.T, rows string) {
		testkit.KeepLog(t)
		b := &builder{}
		testkit.Must(t, b.read(context.Background(), strings.NewReader(header+"\n"+rows)))
		lines, malformed, want := 0, 0, map[Document]bool{}
		for line := range strings.Lines(rows) {
			lines++
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			if !documentLine.MatchString(line) {
				malformed++
				continue
			}
			d, _ := ParseDocument([]byte(line))
			want[d] = true
		}
		stored := b.finish()
		if int(b.rows) != lines || int(b.malformed) != malformed || int(stored) != len(want) {
			t.Errorf("%d rows, %d malformed, %d stored; want %d, %d, %d", b.rows, b.malformed, stored, lines,
				malformed, len(want))
		}
		bytewise := &builder{}
		text := iotest.OneByteReader(strings.NewReader(header + "\n" + rows))
		testkit.Must(t, bytewise.read(context.Background(), text))
		if bytewise.finish() != stored || bytewise.rows != b.rows || bytewise.malformed != b.malformed {
			t.Errorf("byte by byte: %d rows, %d malformed", bytewise.rows, bytewise.malformed)
		}
		for d := range want {
			if !b.bitmaps[d.series()].Contains(d.number()) {
				t.Errorf("%d is missing", d)
			}
		}
	})
}

// FuzzSnapshot changes a snapshot and sets its checksum right again: no change may end the program, now or
// when the list is asked.
func FuzzSnapshot(f *testing.F) {
	b := &builder{}
	text := header + "\n0001,000001\n0001,000002\n0001,000003\n0001,700001\n0002,000001\n"
	testkit.Must(f, b.read(context.Background(), strings.NewReader(text)))
	var whole bytes.Buffer
	testkit.Must(f, writeSnapshot(&whole, Info{Stored: b.finish()}, &b.bitmaps))
	// The index is mostly zeros; the fuzzer gets what is before and after it.
	indexEnd := bytes.LastIndexByte(whole.Bytes()[:headerBytes+infoBytesMax], '}') + 1 + indexBytes
	f.Add(headerBytes, byte(1), whole.Bytes()[indexEnd:])
	f.Add(headerInfo, byte(0xff), whole.Bytes()[indexEnd:])
	f.Add(indexEnd-indexBytes+4, byte(9), whole.Bytes()[indexEnd:])
	f.Fuzz(func(t *testing.T, at int, change byte, tail []byte) {
		snapshot := append(bytes.Clone(whole.Bytes()[:indexEnd]), tail...)
		if at >= 0 && at < len(snapshot) {
			snapshot[at] ^= change
		}
		snapshot = binary.LittleEndian.AppendUint32(snapshot, crc32.Checksum(snapshot, castagnoli))
		l, err := view(snapshot)
		if err != nil {
			return
		}
		for d := Document(990_000); d < 2_010_000; d += 7 {
			l.Contains(d)
		}
	})
}
