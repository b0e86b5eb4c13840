package supervise

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Worker is this process seen as a worker: what it got from its supervisor.
type Worker struct {
	Slot     int // from 0
	Listener net.Listener
	Values   []byte
	Files    []*os.File

	ready *os.File
}

// Inherited returns what the supervisor handed over, nil when this process is not a worker. Call it once, before
// anything else: the descriptors it takes over and the environment variable it removes are not there a second time.
//
// A worker gets SIGTERM when it is to answer what is in flight and end, and SIGHUP when another worker has taken its
// place: it then closes its listener and ends when its connections have.
func Inherited() (*Worker, error) {
	role, isWorker := os.LookupEnv(roleVariable)
	if !isWorker {
		return nil, nil
	}
	// Whatever this process may start is not a worker.
	if err := os.Unsetenv(roleVariable); err != nil {
		return nil, fmt.Errorf("cannot unset %s: %w", roleVariable, err)
	}
	slot, err := strconv.Atoi(role)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w (it is set by the supervisor only: unset it)", roleVariable, err)
	}
	handover := inherit(handoverDescriptor, "handover")
	sealed, err := unseal(handover)
	if err != nil {
		return nil, err
	}
	handover.Close()

	socket := inherit(listenerDescriptor, "listener")
	listener, err := net.FileListener(socket)
	if err != nil {
		return nil, fmt.Errorf("cannot inherit listening socket: %w", err)
	}
	socket.Close() // the listener has a copy

	w := &Worker{Slot: slot, Listener: listener, Values: sealed.Values, ready: inherit(readyDescriptor, "ready")}
	for i := range sealed.Files {
		w.Files = append(w.Files, inherit(filesDescriptor+i, "handover file "+strconv.Itoa(i)))
	}
	return w, nil
}

// Ready tells the supervisor that this worker serves. To be called once.
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
