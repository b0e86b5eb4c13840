package blocklist

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sys/unix"
)

// List is one list, mapped from its snapshot. It never changes and is safe for concurrent use. Its memory
// goes back once nothing refers to it any more.
type List struct {
	info    Info
	bytes   int                          // of the snapshot
	bitmaps [seriesCount]*roaring.Bitmap // nil for a series without documents; their data is in the mapping
}

// Open maps a snapshot file. Processes that map the same file share its memory. Errors: ErrCorrupt.
func Open(path string) (*List, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open snapshot: %w", err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot open snapshot: %w", err)
	}
	if stat.Size() == 0 {
		return nil, fmt.Errorf("%w: %s is empty", ErrCorrupt, path)
	}
	mapping, err := unix.Mmap(int(file.Fd()), 0, int(stat.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("cannot map snapshot: %w", err)
	}
	list, err := view(mapping)
	if err != nil {
		_ = unix.Munmap(mapping)
		return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, path, err)
	}
	runtime.AddCleanup(list, func(mapping []byte) { _ = unix.Munmap(mapping) }, mapping)
	return list, nil
}

// Info describes the list.
func (l *List) Info() Info { return l.info }

// Bytes is the size of the mapping.
func (l *List) Bytes() int { return l.bytes }

// Contains reports whether the document is on the list. It does not allocate.
func (l *List) Contains(d Document) bool {
	if d >= seriesCount*numbersCount {
		return false
	}
	bitmap := l.bitmaps[d.series()]
	listed := bitmap != nil && bitmap.Contains(d.number())
	runtime.KeepAlive(l) // the mapping lives as long as the list
	return listed
}

// view makes a List of a snapshot's bytes, which must not change afterwards: the bitmaps refer to them. The
// checksum vouches for what is in the bitmaps; their lengths are checked, because a length that is too
// great would end the program.
func view(snapshot []byte) (*List, error) {
	info, rest, err := readHead(snapshot)
	if err != nil {
		return nil, err
	}
	l := &List{info: info, bytes: len(snapshot)}
	sizes, rest := rest[:indexBytes], rest[indexBytes:]
	stored := uint64(0)
	for series := range l.bitmaps {
		size := uint64(binary.LittleEndian.Uint32(sizes[fieldBytes*series:]))
		if size == 0 {
			continue
		}
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("series %04d goes beyond the end", series)
		}
		bitmap := roaring.New()
		read, err := bitmap.FromUnsafeBytes(rest[:size])
		if err == nil && uint64(read) != size {
			err = fmt.Errorf("its bitmap has %d of %d bytes", read, size)
		}
		if err != nil {
			return nil, fmt.Errorf("series %04d: %w", series, err)
		}
		l.bitmaps[series], rest = bitmap, rest[size:]
		stored += bitmap.GetCardinality()
	}
	if len(rest) > 0 || stored != info.Stored {
		return nil, fmt.Errorf("%d documents and %d more bytes; it claims %d and none", stored, len(rest),
			info.Stored)
	}
	return l, nil
}

// readHead checks a snapshot's sum and returns its Info, and what follows that without the sum.
func readHead(snapshot []byte) (info Info, rest []byte, err error) {
	if len(snapshot) < headerBytes+indexBytes+fieldBytes {
		return info, nil, fmt.Errorf("%d bytes are too few", len(snapshot))
	}
	summed, sum := snapshot[:len(snapshot)-fieldBytes], snapshot[len(snapshot)-fieldBytes:]
	version := binary.LittleEndian.Uint32(snapshot[headerVersion:])
	length := binary.LittleEndian.Uint32(snapshot[headerInfo:])
	switch {
	case string(snapshot[:headerVersion]) != snapshotMagic || version != snapshotVersion:
		return info, nil, fmt.Errorf("it is no snapshot of version %d", snapshotVersion)
	case crc32.Checksum(summed, castagnoli) != binary.LittleEndian.Uint32(sum):
		return info, nil, fmt.Errorf("its checksum is wrong")
	case length > infoBytesMax || headerBytes+int(length)+indexBytes > len(summed):
		return info, nil, fmt.Errorf("its description claims %d bytes", length)
	}
	rest = summed[headerBytes:]
	if err := json.Unmarshal(rest[:length], &info); err != nil {
		return info, nil, err
	}
	return info, rest[length:], nil
}
