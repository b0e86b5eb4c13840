// Package wholefile replaces files as a whole: a reader, or a crash, finds the old text or the new one.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file of mode 0600, for secrets and for people's names. The path has the old file until the
// new one is whole and safe on disk. A symbolic link stays, and its target is replaced. A pipe or a device
// is written to directly.
func Write(path string, write func(*os.File) error) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isLink(path):
		return fmt.Errorf("cannot write %s: it is a symbolic link to nothing", path)
	case errors.Is(err, fs.ErrNotExist):
		return replace(path, write)
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", path, err)
	case info.Mode().IsRegular():
		return replace(target, write)
	}
	return writeInto(target, write)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// writeInto writes to something that is no regular file.
func writeInto(path string, write func(*os.File) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	err = write(file)
	if closing := file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("cannot write %s: %w", path, closing)
	}
	return err
}

// replace writes a new file beside the old one, then renames it.
func replace(path string, write func(*os.File) error) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(draft.Name())
		}
	}()
	if err := write(draft); err != nil {
		return errors.Join(err, draft.Close())
	}
	err = draft.Sync()
	if closing := draft.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// syncFolder makes a new name in a folder safe on disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
