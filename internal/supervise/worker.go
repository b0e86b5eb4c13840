package supervise

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Worker is this process as a worker, with everything that the supervisor handed over.
type Worker struct {
	Role     string
	Slot     int                 // from 0
	Listener net.Listener        // nil for a role without sockets
	Files    map[string]*os.File // of the Parcel

	value json.RawMessage
	ready *os.File
}

// Inherited returns what the supervisor handed over, nil if this process is not a worker. Call it once,
// before anything else: it takes over descriptors and removes the environment variable.
//
// SIGTERM tells a worker to answer the requests under way and to end. SIGHUP tells it that another worker
// has taken its place: it then closes its listener and ends with its last connection. SIGHUP comes again
// when that other worker is replaced, too.
func Inherited() (*Worker, error) {
	text, isWorker := os.LookupEnv(roleVariable)
	if !isWorker {
		return nil, nil
	}
	// Programs that this process starts are no workers.
	if err := os.Unsetenv(roleVariable); err != nil {
		return nil, fmt.Errorf("cannot unset %s: %w", roleVariable, err)
	}
	role, number, _ := strings.Cut(text, "/")
	slot, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w (it is set by the supervisor only: unset it)", roleVariable,
			err)
	}
	handover := inherit(handoverDescriptor, "handover")
	e, err := unseal(handover)
	if err != nil {
		return nil, err
	}
	handover.Close()
	w := &Worker{Role: role, Slot: slot, Files: map[string]*os.File{}, value: e.Value,
		ready: inherit(readyDescriptor, "ready")}
	return w, w.inherit(e)
}

// inherit takes over the listening socket and the files.
func (w *Worker) inherit(e envelope) error {
	next := firstDescriptor
	if e.Listens {
		socket := inherit(next, "listener")
		next++
		listener, err := net.FileListener(socket)
		if err != nil {
			return fmt.Errorf("cannot inherit listening socket: %w", err)
		}
		socket.Close() // the listener has a copy
		w.Listener = listener
	}
	for i, name := range e.Files {
		w.Files[name] = inherit(next+i, name)
	}
	return nil
}

// Value decodes the value of the Parcel into v.
func (w *Worker) Value(v any) error {
	if err := json.Unmarshal(w.value, v); err != nil {
		return fmt.Errorf("cannot read handover: %w", err)
	}
	return nil
}

// Ready tells the supervisor that this worker serves. Call it once.
func (w *Worker) Ready() error {
	_, err := w.ready.Write([]byte{'\n'})
	if closing := w.ready.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("cannot tell supervisor that worker %d is ready: %w", w.Slot, err)
	}
	return nil
}

func inherit(descriptor int, name string) *os.File {
	unix.CloseOnExec(descriptor)
	return os.NewFile(uintptr(descriptor), name)
}
