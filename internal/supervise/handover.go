package supervise

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// Names a process as a worker, by its slot's number. Everything else comes by descriptor, for ps shows arguments
	// and environment to other users.
	roleVariable = "FLASHSALE_WORKER"

	// Descriptors that a worker inherits; the handover's files follow.
	listenerDescriptor = 3
	handoverDescriptor = 4
	readyDescriptor    = 5
	filesDescriptor    = 6

	handoverMost = 1 << 20 // bytes of values
	filesMost    = 64
)

// Handover is what the supervisor passes to each worker at its start.
type Handover struct {
	Values []byte     // JSON for the worker, at most 1 MiB: secrets and computed settings
	Files  []*os.File // at most 64; must stay open for as long as workers are started with this handover
}

// envelope is the form in which a handover travels.
type envelope struct {
	Values []byte
	Files  int
}

func (h Handover) check() error {
	if len(h.Values) > handoverMost {
		return fmt.Errorf("handover to workers has %d bytes of values, the limit is %d", len(h.Values), handoverMost)
	}
	if len(h.Files) > filesMost {
		return fmt.Errorf("handover to workers has %d files, the limit is %d", len(h.Files), filesMost)
	}
	return nil
}

// seal writes the handover to a file without a name in memory, for one worker to read. A pipe would do too, but
// needs somebody to keep writing while the worker reads.
func (h Handover) seal() (*os.File, error) {
	descriptor, err := unix.MemfdCreate("handover", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make handover: %w", err)
	}
	file := os.NewFile(uintptr(descriptor), "handover")
	err = json.NewEncoder(file).Encode(envelope{h.Values, len(h.Files)})
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot make handover: %w", err)
	}
	return file, nil
}

// unseal reads what seal wrote.
func unseal(file *os.File) (envelope, error) {
	var e envelope
	// Base64 makes four bytes of three; the rest of the envelope is small.
	err := json.NewDecoder(io.LimitReader(file, 2*handoverMost)).Decode(&e)
	if err == nil && (e.Files < 0 || e.Files > filesMost) {
		err = fmt.Errorf("%d files, the limit is %d", e.Files, filesMost)
	}
	if err != nil {
		return envelope{}, fmt.Errorf("cannot read handover: %w (%s is set by the supervisor only: unset it)", err, roleVariable)
	}
	return e, nil
}
