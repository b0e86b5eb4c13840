package catalog

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// File returns a sealed file in memory that holds the image, to hand to a worker process. No process can
// change, grow or shrink it any more. The caller closes it; it is not inherited by exec unless passed on
// (exec.Cmd.ExtraFiles).
func (c *Catalog) File() (*os.File, error) {
	fd, err := unix.MemfdCreate("catalog", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("cannot create catalogue file: %w", err)
	}
	file := os.NewFile(uintptr(fd), "catalog")
	if _, err := file.Write(c.image); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot write catalogue file: %w", err)
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot seal catalogue file: %w", err)
	}
	return file, nil
}

// Map returns the catalogue in a file made by File. All processes that map it share its memory. The
// caller may close f at once; the mapping stays for the life of the process.
func Map(f *os.File) (*Catalog, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot map catalogue file: %w", err)
	}
	if info.Size() < headerBytes {
		return nil, fmt.Errorf("cannot map catalogue file: %d bytes are less than its header", info.Size())
	}
	image, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("cannot map catalogue file: %w", err)
	}
	catalog, err := view(image)
	if err != nil {
		unix.Munmap(image)
		return nil, fmt.Errorf("cannot map catalogue file: %w", err)
	}
	return catalog, nil
}
