package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const diskBytes = 32 << 20 // holds the log of the longest drill

// ownMountsDone is in the environment of a process that has a mount namespace of its own.
const ownMountsDone = "DRILL_OWN_MOUNTS"

// ownMounts starts this program anew in a mount namespace of its own, if the machine allows it: its file
// systems then end with it, however it ends. Otherwise newDisk makes no disk.
func ownMounts() {
	self, err := os.Executable()
	unshare, missing := exec.LookPath("unshare")
	if err != nil || missing != nil || os.Getenv(ownMountsDone) != "" {
		return
	}
	for _, flags := range [][]string{{"--mount"}, {"--mount", "--map-root-user"}} {
		if exec.Command(unshare, append(flags, "true")...).Run() == nil {
			command := append(append([]string{"unshare"}, flags...), append([]string{self}, os.Args[1:]...)...)
			// Only a failure returns.
			_ = syscall.Exec(unshare, command, append(os.Environ(), ownMountsDone+"=1"))
		}
	}
}

// disk is the file system of a Redis' data, a small tmpfs.
type disk struct{ folder string }

func newDisk(folder string) (*disk, error) {
	if os.Getenv(ownMountsDone) == "" { // a mount would outlive a killed drill
		return nil, fmt.Errorf("%w: no file system can be mounted", errImpossible)
	}
	err := unix.Mount("drill", folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: cannot mount a small tmpfs: %w", errImpossible, err)
	}
	return &disk{folder}, nil
}

// remove takes the disk away; the disk ends with this process at the latest.
func (d *disk) remove() { _ = unix.Unmount(d.folder, unix.MNT_DETACH) }

func (d *disk) filler() string { return filepath.Join(d.folder, "filler") }

// fill leaves no room for the log of Redis.
func (d *disk) fill() error {
	if err := os.WriteFile(d.filler(), make([]byte, diskBytes), 0o600); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("cannot fill the disk: it took %d bytes: %w", diskBytes, err)
	}
	return nil
}

// free makes room again.
func (d *disk) free() error {
	if err := os.Remove(d.filler()); err != nil {
		return fmt.Errorf("cannot free the disk: %w", err)
	}
	return nil
}
