package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// makersMax bounds the pictures that are made at once: each takes up to 200 MB.
const makersMax = 4

// Report is what Make has done.
type Report struct{ Pictures, Made int }

// Make makes the pack at path of the wanted files in a folder. What has not changed since it was made last
// is taken from the pack that is there. A picture that cannot be used is an error, which says where it is
// named, and the pack stays as it was.
func Make(ctx context.Context, folder string, wanted []Wanted, path string) (r Report, err error) {
	if len(wanted) > filesMax {
		return r, wanted[filesMax].at(fmt.Errorf("more than %d pictures; name fewer", filesMax))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return r, fmt.Errorf("cannot read -images: %w", err)
	}
	defer root.Close()
	before := map[string]made{}
	old, mapping, unread := openPack(path)
	if unread == nil { // else it is made anew
		defer unix.Munmap(mapping)
	}
	for _, file := range old {
		before[file.name] = file
	}
	files := make([]made, len(wanted))
	fresh := make([]bool, len(wanted))
	makers, ctx := errgroup.WithContext(ctx)
	makers.SetLimit(min(runtime.GOMAXPROCS(0), makersMax))
	for i, w := range wanted {
		makers.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if files[i], fresh[i], err = makeOne(root, w.File, before[w.File]); err != nil {
				return w.at(err)
			}
			return nil
		})
	}
	if err := makers.Wait(); err != nil {
		return r, err
	}
	r.Pictures = len(files)
	for _, one := range fresh {
		if one {
			r.Made++
		}
	}
	if unread == nil && r.Made == 0 && len(files) == len(old) {
		return r, nil
	}
	slices.SortFunc(files, func(a, b made) int { return strings.Compare(a.name, b.name) })
	return r, writePack(path, files)
}

// makeOne makes the pictures of a file unless it is as it was before.
func makeOne(root *os.Root, name string, before made) (now made, fresh bool, err error) {
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not block the start
	if errors.Is(err, fs.ErrNotExist) {
		return now, false, errors.New("there is no such file in the folder of -images; add it, or name no image")
	}
	if err != nil {
		return now, false, err
	}
	defer file.Close()
	info, err := statRegular(file)
	if err != nil {
		return now, false, err
	}
	now = made{name: name, stamp: stamp{info.Size(), info.ModTime().UnixNano(), version}}
	if now.stamp == before.stamp {
		return before, false, nil
	}
	text, err := readAll(file, fileBytesMax)
	if err != nil {
		return now, false, err
	}
	now.pictures, err = resize(text)
	return now, true, err
}

// statRegular describes a file that a picture can be read from.
func statRegular(file *os.File) (fs.FileInfo, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file; name a picture")
	}
	return info, err
}

// readAll reads a file of at most limit bytes.
func readAll(file io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than %d bytes; make it smaller", limit)
	}
	return text, err
}
