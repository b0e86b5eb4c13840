// Package datafolder is the folder (flag -data) of one server's files on disk: the default store's data, the
// token secret and root's password.
//
// It must not read or write the store's own files, and it is never on the path of a request. It is slow
// where it waits for the store of a server that has just died (see Lock).
package datafolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

const (
	lockName         = "lock"
	tokenSecretName  = "token-secret"
	rootPasswordName = "root-password"
	saleName         = "sale"
)

// Folder is an open data folder.
type Folder struct {
	path string
	lock *os.File // nil until locked
}

// saleMost is more than WriteSale writes, in bytes: an id and the path of a socket or a host:port.
const saleMost = 4096

// Open makes the folder with mode 0700 when it is missing, and gives it that mode when others may read
// it. It refuses a folder of another owner, or one in which others may write: they could have put a
// secret of their own there. It also refuses a folder with a symbolic link in it; the folder itself may
// be reached by a link.
func Open(path string) (*Folder, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open data folder %s: %w", path, err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make data folder: %w", err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return nil, fmt.Errorf("cannot open data folder: %w", err)
	}
	if err := checkOwner("data folder "+absolute, info); err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("data folder %s is writable by others (mode %04o); run chmod 700 on it or choose "+
			"another with -data",
			absolute, info.Mode().Perm())
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(absolute, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make data folder private: %w", err)
		}
	}
	if err := checkLinks(absolute); err != nil {
		return nil, err
	}
	return &Folder{path: absolute}, nil
}

// Path is the absolute path of the folder.
func (f *Folder) Path() string { return f.path }

// File is the absolute path of the file called name in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.path, name) }

// WriteRootPassword keeps root's password, as one line with mode 0600, for programs that log in as root
// on this machine.
func (f *Folder) WriteRootPassword(password string) error {
	if err := f.replace(rootPasswordName, password); err != nil {
		return fmt.Errorf("cannot write root password: %w", err)
	}
	return nil
}

// RootPasswordPath is the file that WriteRootPassword writes.
func (f *Folder) RootPasswordPath() string { return f.File(rootPasswordName) }

// SalePath is the file that WriteSale writes.
func (f *Folder) SalePath() string { return f.File(saleName) }

// WriteSale remembers which sale was served, and from which Redis.
func (f *Folder) WriteSale(id, redis string) error {
	if err := f.replace(saleName, id+" "+redis); err != nil {
		return fmt.Errorf("cannot remember sale: %w", err)
	}
	return nil
}

// Served is the sale that was last served from a folder, and the address of its Redis. Both are "" where
// no sale was served.
type Served struct{ Sale, Redis string }

// servedLine is a line of WriteSale: the sale's id, then the address of its Redis.
var servedLine = regexp.MustCompile(`^([a-z2-7]{8}) (\S.*)\n$`)

// Served returns the last sale of WriteSale. It refuses a file that WriteSale has not written.
func (f *Folder) Served() (Served, error) {
	text, err := f.readFile(saleName, saleMost)
	if errors.Is(err, fs.ErrNotExist) {
		return Served{}, nil
	}
	if err != nil {
		return Served{}, fmt.Errorf("cannot read which sale was served: %w", err)
	}
	words := servedLine.FindSubmatch(text)
	if words == nil {
		return Served{}, fmt.Errorf("%s does not name a sale and its Redis, as it should; restore it, "+
			"or make sure that REDIS_HOST is right and delete it", f.SalePath())
	}
	return Served{string(words[1]), string(words[2])}, nil
}

// replace writes a file of one line, mode 0600. Renaming replaces the whole file at once: no reader gets
// half of it.
func (f *Folder) replace(name, line string) error {
	draft, err := f.draft(name, line)
	if err != nil {
		return err
	}
	if err := os.Rename(draft, f.File(name)); err != nil {
		os.Remove(draft)
		return err
	}
	return nil
}

// draft writes line to a new file of mode 0600 in the folder, safe on disk, and returns its path.
func (f *Folder) draft(name, line string) (string, error) {
	file, err := os.CreateTemp(f.path, name+".*")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(line + "\n")
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}
