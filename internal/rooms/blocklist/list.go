package blocklist

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// List is one list, mapped from its snapshot. It never changes and is safe for concurrent use. Its memory
// goes back once nothing refers to it any more.
type List struct {
	info  Info
	index index
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
	list, err := viewMapped(mapping)
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
func (l *List) Bytes() int { return len(l.index.snapshot) }

// Contains reports whether the document is on the list.
func (l *List) Contains(d Document) bool {
	listed := l.index.contains(d)
	runtime.KeepAlive(l) // the mapping lives as long as the list
	return listed
}

// Mark sets listed[i] to whether documents[i] is on the list. Both have the same length. For many documents
// it is several times faster than Contains for each.
func (l *List) Mark(documents []Document, listed []bool) {
	clear(listed)
	for len(documents) > 0 {
		n := min(len(documents), sideBySide)
		l.index.mark(documents[:n], listed[:n])
		documents, listed = documents[n:], listed[n:]
	}
	runtime.KeepAlive(l)
}

// viewMapped is view, where the file may be cut short meanwhile: reading beyond its new end is a fault,
// which would end the process.
func viewMapped(mapping []byte) (list *List, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the file changed while it was read: %v", fault)
		}
	}()
	return view(mapping)
}

// view makes a List of a snapshot's bytes, which must not change afterwards.
func view(snapshot []byte) (*List, error) {
	info, rest, err := readHead(snapshot)
	if err != nil {
		return nil, err
	}
	l := &List{info: info, index: index{snapshot: snapshot, containers: make([][seriesContainers]container, 1)}}
	sizes, end := rest[:indexBytes], uint64(len(snapshot)-fieldBytes)
	at := end - uint64(len(rest)-indexBytes)
	stored := uint64(0)
	for series := range seriesCount {
		size := uint64(binary.LittleEndian.Uint32(sizes[fieldBytes*series:]))
		if size == 0 {
			continue
		}
		if at+size > end {
			return nil, fmt.Errorf("series %04d goes beyond the end", series)
		}
		documents, err := l.index.add(series, uint32(at), uint32(at+size))
		if err != nil {
			return nil, fmt.Errorf("series %04d: %w", series, err)
		}
		at += size
		stored += documents
	}
	if at != end || stored != info.Stored {
		return nil, fmt.Errorf("%d documents and %d more bytes; it claims %d and none", stored, end-at,
			info.Stored)
	}
	return l, nil
}

// readHead checks a snapshot's sum and returns its Info, and what follows that without the sum.
func readHead(snapshot []byte) (info Info, rest []byte, err error) {
	if len(snapshot) < headerBytes+indexBytes+fieldBytes {
		return info, nil, fmt.Errorf("%d bytes are too few", len(snapshot))
	}
	if len(snapshot) > math.MaxUint32 { // the index could not name all of them
		return info, nil, fmt.Errorf("%d bytes are too many", len(snapshot))
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
