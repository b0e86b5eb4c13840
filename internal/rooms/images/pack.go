package images

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The pack is a file with all pictures:
//
//	magic "flashimg"       8 bytes
//	length of the index    uint32, little-endian
//	index                  []packedFile as JSON
//	bodies                 back to back
const (
	packMagic     = "flashimg"
	packHeader    = len(packMagic) + 4
	indexBytesMax = 16 << 20
)

// version is another one when the same file becomes other pictures.
const version = 1

// stamp tells whether a file is still the one of which pictures were made.
type stamp struct {
	Bytes    int64
	Modified int64 // Unix ns
	Version  int
}

// packedFile is a file in the index.
type packedFile struct {
	Name string
	stamp
	Pictures []packedPicture
}

// packedPicture is where a picture is: bytes of the bodies.
type packedPicture struct {
	Type, ETag  string
	Side        int
	From, Bytes int64
}

// made is a file with its pictures.
type made struct {
	name string
	stamp
	pictures []Picture
}

// Open maps a pack. It stays mapped for the life of the process.
func Open(path string) (*Set, error) {
	files, _, err := openPack(path)
	if err != nil {
		return nil, err
	}
	s := &Set{files: map[string][]Picture{}}
	for _, file := range files {
		s.files[file.name] = file.pictures
	}
	return s, nil
}

// openPack maps a pack. The pictures are parts of the mapping.
func openPack(path string) (files []made, mapping []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the pictures: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the pictures: %w", err)
	}
	if info.Size() < int64(packHeader) {
		return nil, nil, fmt.Errorf("cannot open the pictures: %s has only %d bytes", path, info.Size())
	}
	mapping, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot map the pictures: %w", err)
	}
	if files, err = readPack(mapping); err != nil {
		err = fmt.Errorf("cannot open the pictures in %s: %w", path, err)
		return nil, nil, errors.Join(err, unix.Munmap(mapping))
	}
	return files, mapping, nil
}

// readPack reads the index of a pack. The pictures are parts of its text.
func readPack(text []byte) (files []made, err error) {
	if len(text) < packHeader || !bytes.HasPrefix(text, []byte(packMagic)) {
		return nil, errors.New("it is no pack of pictures")
	}
	length := uint64(binary.LittleEndian.Uint32(text[len(packMagic):]))
	if length > uint64(len(text)-packHeader) {
		return nil, errors.New("its index is cut off")
	}
	var index []packedFile
	if err := json.Unmarshal(text[packHeader:packHeader+int(length)], &index); err != nil {
		return nil, fmt.Errorf("cannot read its index: %w", err)
	}
	bodies := text[packHeader+int(length):]
	for _, file := range index {
		one := made{name: file.Name, stamp: file.stamp}
		for _, p := range file.Pictures {
			if p.From < 0 || p.Bytes < 0 || p.From > int64(len(bodies)) || p.Bytes > int64(len(bodies))-p.From {
				return nil, fmt.Errorf("the pictures of %q are cut off", file.Name)
			}
			one.pictures = append(one.pictures,
				Picture{p.Type, p.ETag, bodies[p.From : p.From+p.Bytes : p.From+p.Bytes], p.Side})
		}
		files = append(files, one)
	}
	return files, nil
}

// writePack writes a pack beside the old one and then puts it in its place: a worker has the one or the
// other.
func writePack(path string, files []made) (err error) {
	var index []packedFile
	var bodies int64
	for _, file := range files {
		one := packedFile{Name: file.name, stamp: file.stamp}
		for _, p := range file.pictures {
			one.Pictures = append(one.Pictures, packedPicture{p.Type, p.ETag, p.side, bodies, int64(len(p.Body))})
			bodies += int64(len(p.Body))
		}
		index = append(index, one)
	}
	if bodies > packBytesMax {
		return fmt.Errorf("the pictures take %d bytes in all sizes; at most %d: use fewer or plainer ones", bodies,
			packBytesMax)
	}
	head, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("cannot write the pictures: %w", err)
	}
	beside := path + ".new"
	temporary, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the pictures: %w", err)
	}
	_, err = temporary.Write(binary.LittleEndian.AppendUint32([]byte(packMagic), uint32(len(head))))
	write := func(part []byte) {
		if err == nil {
			_, err = temporary.Write(part)
		}
	}
	write(head)
	for _, file := range files {
		for _, p := range file.pictures {
			write(p.Body)
		}
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		return fmt.Errorf("cannot write the pictures: %w", err)
	}
	return nil
}
