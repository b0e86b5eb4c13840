package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	diskBytes = 32 << 20 // holds the log of the longest drill
	fillChunk = 64 << 10
	// roomLeft is how much the append-only file may still grow under a size limit: a moment of load.
	roomLeft = 64 << 10
)

// ownMountsDone is in the environment of a process that has a mount namespace of its own.
const ownMountsDone = "DRILL_OWN_MOUNTS"

// ownMounts starts this program anew in a mount namespace of its own, where the machine allows it: its file
// systems then end with it, however it ends. Where that is not allowed, newDisk notices.
func ownMounts() {
	if os.Getenv(ownMountsDone) != "" {
		return
	}
	path, err := exec.LookPath("unshare")
	if err != nil {
		return
	}
	for _, flags := range [][]string{{"--mount"}, {"--mount", "--map-root-user"}} {
		if exec.Command(path, append(flags, "true")...).Run() != nil {
			continue
		}
		command := append(append([]string{"unshare"}, flags...), append([]string{"/proc/self/exe"},
			os.Args[1:]...)...)
		// /proc/self/exe of unshare would be unshare.
		if self, err := os.Executable(); err == nil {
			command[1+len(flags)] = self
			_ = syscall.Exec(path, command, append(os.Environ(), ownMountsDone+"=1")) // returns only when it failed
		}
	}
}

// disk is the file system of a Redis' data: a small tmpfs, or where mounting is not permitted, a limit on
// the size of the files that redis-server may write, which fails its writes just so.
type disk struct {
	folder  string
	mounted bool
}

func newDisk(folder string) (*disk, error) {
	d := &disk{folder: folder}
	if os.Getenv(ownMountsDone) == "" {
		return d, nil // a mount would outlive a drill that is killed
	}
	err := unix.Mount("drill", folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskBytes))
	if err != nil && !errors.Is(err, unix.EPERM) {
		return d, fmt.Errorf("cannot mount a small tmpfs: %w", err)
	}
	d.mounted = err == nil
	return d, nil
}

func (d *disk) remove() {
	if d.mounted {
		_ = unix.Unmount(d.folder, unix.MNT_DETACH) // it ends with this process at the latest
	}
}

func (d *disk) filler() string { return filepath.Join(d.folder, "filler") }

// fill leaves no room for the log of Redis.
func (d *disk) fill(r *redis) error {
	if !d.mounted {
		return d.limit(r)
	}
	file, err := os.Create(d.filler())
	if err != nil {
		return fmt.Errorf("cannot fill the disk: %w", err)
	}
	defer file.Close()
	if _, err := io.Copy(file, endless{}); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("cannot fill the disk: it took %d bytes: %w", diskBytes, err)
	}
	return nil
}

// endless is a reader of zeros.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b[:min(len(b), fillChunk)])
	return min(len(b), fillChunk), nil
}

// limit makes the append-only file as long as it may be, soon.
func (d *disk) limit(r *redis) error {
	file, err := r.appendFile()
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("cannot limit the size of files: %w", err)
	}
	return setSizeLimit(r, uint64(info.Size()+roomLeft))
}

// free makes room again.
func (d *disk) free(r *redis) error {
	if !d.mounted {
		return setSizeLimit(r, unix.RLIM_INFINITY)
	}
	if err := os.Remove(d.filler()); err != nil {
		return fmt.Errorf("cannot free the disk: %w", err)
	}
	return nil
}

func setSizeLimit(r *redis, bytes uint64) error {
	pid, err := r.pid()
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	err = unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit)
	if err == nil {
		limit.Cur = min(bytes, limit.Max)
		err = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil)
	}
	if err != nil {
		return fmt.Errorf("cannot limit the size of the files of redis-server: %w", err)
	}
	return nil
}

// describe names the way in which the disk gets full.
func (d *disk) describe() string {
	if d.mounted {
		return fmt.Sprintf("disk: a tmpfs of %d MB, filled", diskBytes>>20)
	}
	return "disk: no mount is permitted here, so redis-server got a file size limit (EFBIG for ENOSPC)"
}
