package figures

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// livesMax is the number of workers of one slot that may run at once: after SIGHUP the replaced workers
// finish their connections. The gauges of further workers are not shown.
const livesMax = 8

// slot is the part of the memory for the workers of one slot, one after the other.
type slot struct {
	counters Counters
	// Each worker has gauges of its own and holds a lock on them until it ends, however that happens: the
	// kernel takes the lock away. So the gauges of a worker that was killed do not count.
	lives [livesMax]Gauges
	board Board // only that of the first slot is used
}

const slotBytes = int64(unsafe.Sizeof(slot{}))

// Memory is the figures of all workers of a server.
type Memory struct {
	file  *os.File
	slots []slot
}

// New makes the memory for a number of workers. Pages in which nothing is counted take no room.
func New(workers int) (*Memory, error) {
	fd, err := unix.MemfdCreate("figures", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("cannot make memory for figures: %w", err)
	}
	file := os.NewFile(uintptr(fd), "figures")
	if err = file.Truncate(int64(workers) * slotBytes); err == nil {
		// If a process cut the file off, a worker that reads beyond the new end would be killed.
		const seals = unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	}
	var slots []slot
	if err == nil {
		slots, err = mapSlots(file, 0, workers, readAndWrite)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot make memory for figures: %w", err)
	}
	return &Memory{file: file, slots: slots}, nil
}

const readAndWrite = unix.PROT_READ | unix.PROT_WRITE

// View maps the figures of all workers to be read, from the file of a Memory. The file must stay open.
func View(file *os.File) (*Memory, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot view figures: %w", err)
	}
	slots, err := mapSlots(file, 0, int(info.Size()/slotBytes), unix.PROT_READ)
	if err != nil {
		return nil, fmt.Errorf("cannot view figures: %w", err)
	}
	return &Memory{file: file, slots: slots}, nil
}

// mapSlots maps some slots of a file for the life of the process.
func mapSlots(file *os.File, first, count, protection int) ([]slot, error) {
	from, page := int64(first)*slotBytes, int64(os.Getpagesize())
	begin := from / page * page
	length := int(from - begin + int64(count)*slotBytes)
	text, err := unix.Mmap(int(file.Fd()), begin, length, protection, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*slot)(unsafe.Pointer(&text[from-begin])), count), nil
}

// File is the memory as a file, to hand to workers.
func (m *Memory) File() *os.File { return m.file }

// Slots is the number of workers.
func (m *Memory) Slots() int { return len(m.slots) }

// Counters returns the counters of a slot.
func (m *Memory) Counters(slot int) *Counters { return &m.slots[slot].counters }

// Board is where the supervisor tells all workers something.
func (m *Memory) Board() *Board { return &m.slots[0].board }

// Running returns the gauges of the slot's running workers.
func (m *Memory) Running(slot int) []*Gauges {
	var list []*Gauges
	for life := range livesMax {
		lock := lifeLock(slot, life)
		err := unix.FcntlFlock(m.file.Fd(), unix.F_OFD_GETLK, &lock)
		if err == nil && lock.Type != unix.F_UNLCK {
			list = append(list, &m.slots[slot].lives[life])
		}
	}
	return list
}

// Join maps the slot of a worker from the file of a Memory, and takes gauges in it. The caller may close the
// file at once.
func Join(file *os.File, number int) (*Worker, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot join figures: %w", err)
	}
	if end := int64(number+1) * slotBytes; info.Size() < end {
		return nil, fmt.Errorf("cannot join figures: %d bytes do not hold slot %d", info.Size(), number)
	}
	slots, err := mapSlots(file, number, 1, readAndWrite)
	if err != nil {
		return nil, fmt.Errorf("cannot join figures: %w", err)
	}
	w := &Worker{Counters: &slots[0].counters, Gauges: &Gauges{}}
	// The lock needs a file description of its own to end with this worker: the supervisor shares the
	// description of file.
	w.presence, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot join figures: %w", err)
	}
	for life := range livesMax {
		lock := lifeLock(number, life)
		switch err := unix.FcntlFlock(uintptr(w.presence), unix.F_OFD_SETLK, &lock); {
		case err == nil:
			w.Gauges = &slots[0].lives[life]
			w.reset()
			return w, nil
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES):
			w.Leave()
			return nil, fmt.Errorf("cannot lock figures: %w", err)
		}
	}
	return w, nil
}

// lifeLock is the lock of a worker on its gauges.
func lifeLock(slot, life int) unix.Flock_t {
	return unix.Flock_t{Type: unix.F_WRLCK, Start: int64(slot*livesMax + life), Len: 1}
}

// Leave gives the gauges back. The end of the process does so too.
func (w *Worker) Leave() {
	if w.presence >= 0 {
		unix.Close(w.presence)
		w.presence = -1
	}
}
