package export

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile has write make a file of mode 0600 (it holds people's names), all or nothing: under its name
// there is the whole text, safe on disk, or what was there before. Half a text never stands there.
func WriteFile(path string, write func(io.Writer) error) (err error) {
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
