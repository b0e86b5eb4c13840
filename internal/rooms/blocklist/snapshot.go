package blocklist

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// A snapshot is a list in one file, which processes map. All integers are little-endian.
//
//	magic "flashblk"                     8 bytes
//	version                              uint32
//	length of the Info                   uint32
//	Info                                 JSON
//	length of the bitmap of each series  10,000 x uint32, 0 for none
//	bitmaps                              roaring's portable format, with run containers
//	CRC-32C of all that stands before    uint32
const (
	snapshotMagic   = "flashblk"
	snapshotVersion = 1

	fieldBytes    = 4
	headerVersion = len(snapshotMagic)
	headerInfo    = headerVersion + fieldBytes
	headerBytes   = headerInfo + fieldBytes
	infoBytesMax  = 4 << 10
	indexBytes    = fieldBytes * seriesCount

	draftSuffix = ".new"
)

// ErrCorrupt is the outcome of opening a file that is no whole snapshot.
var ErrCorrupt = errors.New("snapshot is corrupt")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Info describes a list.
type Info struct {
	Rows      uint64  // read, malformed ones and repeats included
	Malformed uint64  // rows that are no document
	Stored    uint64  // documents
	Source    Version // of the imported list
	Imported  int64   // when the source sent it, in Unix milliseconds; of two lists the later one counts
}

// Version tells one state of the source from another, as HTTP does. Each may be empty.
type Version struct {
	URL            string // hash of the source's URL, which may hold a password; "" for a file
	ETag, Modified string
}

// Date is when the source was last changed, zero where that is not known.
func (v Version) Date() time.Time {
	date, _ := http.ParseTime(v.Modified) // zero with an error
	return date.UTC()
}

// same reports whether two versions are known to be the same.
func (v Version) same(other Version) bool { return v == other && (v.ETag != "" || v.Modified != "") }

// sameFile reports whether a file is the same as before and has not changed. before may be nil.
func sameFile(file, before os.FileInfo) bool {
	return before != nil && os.SameFile(file, before) && file.Size() == before.Size() &&
		file.ModTime().Equal(before.ModTime())
}

// summing is a writer that sums up what it writes.
type summing struct {
	io.Writer
	sum hash.Hash32
}

func (s *summing) Write(p []byte) (int, error) {
	s.sum.Write(p)
	return s.Writer.Write(p)
}

// writeSnapshot writes a snapshot of the bitmaps by series. A series without documents is nil.
func writeSnapshot(w io.Writer, info Info, bitmaps *[seriesCount]*roaring.Bitmap) error {
	text, err := json.Marshal(info)
	if err != nil || len(text) > infoBytesMax {
		return fmt.Errorf("cannot describe the list in %d bytes: %w", infoBytesMax, err)
	}
	out := &summing{w, crc32.New(castagnoli)}
	head := append(make([]byte, 0, headerBytes+len(text)+indexBytes), snapshotMagic...)
	head = binary.LittleEndian.AppendUint32(head, snapshotVersion)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(text)))
	head = append(head, text...)
	for _, bitmap := range bitmaps {
		size := uint64(0)
		if bitmap != nil {
			size = bitmap.GetSerializedSizeInBytes()
		}
		head = binary.LittleEndian.AppendUint32(head, uint32(size))
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, bitmap := range bitmaps {
		if bitmap == nil {
			continue
		}
		if _, err := bitmap.WriteTo(out); err != nil {
			return err
		}
	}
	_, err = w.Write(binary.LittleEndian.AppendUint32(nil, out.sum.Sum32()))
	return err
}

// replaceSnapshot writes a snapshot file in place of the one at path, at once and safe on disk. What write
// has written is checked before: a snapshot that cannot be opened is an error, and the old file stays.
func replaceSnapshot(path string, write func(io.Writer) error) error {
	draft := path + draftSuffix
	defer os.Remove(draft) // in vain after the rename
	if err := writeDraft(draft, write); err != nil {
		return fmt.Errorf("cannot write snapshot: %w", err)
	}
	if _, err := Open(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("cannot write snapshot: %w", err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("cannot write snapshot: %w", err)
	}
	defer folder.Close()
	return folder.Sync() // else a power cut may bring the old file back, or lose both
}

func writeDraft(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
