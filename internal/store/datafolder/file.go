package datafolder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkOwner refuses a file or folder of another user, who could put secrets of his own there. Root may
// write everywhere anyway.
func checkOwner(what string, info os.FileInfo) error {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, and this server runs as user %d; "+
			"run chown on it or choose another folder with -data", what, owner, os.Geteuid())
	}
	return nil
}

// checkLinks refuses a folder with a symbolic link in it: a write through it would land elsewhere.
func checkLinks(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("cannot open data folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink != 0 {
			return linkError(filepath.Join(path, entry.Name()))
		}
	}
	return nil
}

func linkError(path string) error {
	return fmt.Errorf("%s is a symbolic link; remove it, or choose another folder with -data", path)
}

// OpenFile opens the file called name in the folder, as os.OpenFile with flags and mode 0600. It refuses
// everything that is not a regular file, symbolic links too, and a file of another owner.
func (f *Folder) OpenFile(name string, flags int) (*os.File, error) {
	path := f.File(name)
	// Without O_NONBLOCK a pipe would block the open.
	file, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, linkError(path)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file; remove it, or choose another folder with -data", path)
	}
	if err == nil {
		err = checkOwner(path, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// readFile reads at most limit bytes of the file called name.
func (f *Folder) readFile(name string, limit int64) ([]byte, error) {
	file, err := f.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}
