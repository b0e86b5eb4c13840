package datafolder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/proc"
)

const (
	// The time that Lock waits for the store of a server that was killed: the store is asked to end at
	// that moment.
	lockWait  = 5 * time.Second
	lockRetry = 20 * time.Millisecond
)

// ErrInUse is the outcome of locking a folder that another server, or the store it left behind, still uses.
var ErrInUse = errors.New("in use")

// Lock takes the folder for this process until Unlock or its end. A folder that a running server holds
// gives ErrInUse at once, with that server's process ID. When the server is dead but its store is still
// closing, Lock waits for the store for up to 5 s.
func (f *Folder) Lock() error {
	file, err := f.OpenFile(lockName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("cannot lock data folder: %w", err)
	}
	if err := f.acquire(file); err != nil {
		file.Close()
		return err
	}
	f.lock = file
	return nil
}

// LockFile is the locked file, nil while the folder is not locked. Its open descriptor is the lock. The
// store's process inherits it, so that the folder stays locked while a store still runs on it.
func (f *Folder) LockFile() *os.File { return f.lock }

// Unlock gives the folder back. It stays locked while a process that inherited the lock lives.
func (f *Folder) Unlock() error {
	file := f.lock
	f.lock = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("cannot unlock data folder: %w", err)
	}
	return nil
}

func (f *Folder) acquire(file *os.File) error {
	for start := time.Now(); ; time.Sleep(lockRetry) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return writeOwner(file)
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("cannot lock data folder %s: %w", f.path, err)
		}
		// The new owner writes its ID just after it got the lock. Until then the file has no ID, or a dead one.
		owner := readOwner(file)
		if proc.Alive(owner) {
			return fmt.Errorf("data folder %s is %w by process %d; stop it or choose another with -data",
				f.path, ErrInUse, owner)
		}
		if time.Since(start) >= lockWait {
			return fmt.Errorf("data folder %s is still %w by the store of process %d, which has ended; "+
				"stop that store or choose another folder with -data", f.path, ErrInUse, owner)
		}
	}
}

func writeOwner(file *os.File) error {
	err := file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return fmt.Errorf("cannot write process ID to lock of data folder: %w", err)
	}
	return nil
}

// readOwner returns the process ID in the lock file, 0 when it is not (yet) written.
func readOwner(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0)
	line, _, complete := bytes.Cut(text[:n], []byte("\n"))
	owner, err := strconv.Atoi(string(line))
	if !complete || err != nil {
		return 0
	}
	return owner
}
