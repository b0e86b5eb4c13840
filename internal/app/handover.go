package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"flashsale/internal/catalog"
	"flashsale/internal/serve/listener"
	"flashsale/internal/supervise"
	"flashsale/redisx"
)

// The names of the files of a handover.
const (
	catalogFile = "catalog"
	figuresFile = "figures"
	roomPrefix  = "room " // of the long result of a room
)

// handover is the part of an opening that a worker gets as a value. It gets the catalogue and the figures as
// files.
type handover struct {
	Redis       redisx.Config
	Sale        string
	Secrets     [][]byte // the current secret signs; the older ones are still accepted
	Certificate listener.Certificate

	Address      string // of the sale's port
	Desk         string // where the supervisor answers questions about the next sale
	PushAddress  string // where clients hold websockets; "" without a conversation
	ServiceToken string // lets other programs in; "" lets no program in

	Rooms map[string]json.RawMessage // the results of room.read, by room name
}

// longResult is a result of room.read that is too long for a value: workers get it as a file, see takeLong.
type longResult interface{ Bytes() []byte }

// pack makes the handover to all workers. The caller closes its ownFiles.
func (o *opening) pack() (supervise.Handover, error) {
	file, err := o.catalog.File()
	if err != nil {
		return nil, err
	}
	files := map[string]*os.File{catalogFile: file, figuresFile: o.figures}
	value := o.handover
	value.Rooms = map[string]json.RawMessage{}
	for name, read := range o.rooms {
		if long, ok := read.(longResult); ok {
			files[roomPrefix+name], err = memoryFile(name, long.Bytes())
		} else {
			value.Rooms[name], err = json.Marshal(read)
		}
		if err != nil {
			return nil, err
		}
	}
	parcel := supervise.Parcel{Value: value, Files: files}
	return supervise.Handover{saleRole: parcel, pushRole: parcel}, nil
}

// memoryFile makes a file in memory.
func memoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot create a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.Write(content); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot write a file in memory: %w", err)
	}
	return file, nil
}

// ownFiles are the files that were made for a handover.
func ownFiles(h supervise.Handover) (list []*os.File) {
	for name, file := range h[saleRole].Files {
		if name != figuresFile {
			list = append(list, file)
		}
	}
	return list
}

// unpack returns what pack has handed over.
func unpack(w *supervise.Worker) (*opening, error) {
	o := &opening{figures: w.Files[figuresFile]}
	if err := w.Value(&o.handover); err != nil {
		return nil, err
	}
	file := w.Files[catalogFile]
	defer file.Close()
	var err error
	o.catalog, err = catalog.Map(file)
	return o, err
}

// take decodes into v what the room of this name has read.
func (h *handover) take(name string, v any) error {
	if err := json.Unmarshal(h.Rooms[name], v); err != nil {
		return fmt.Errorf("cannot take over what the room %s has read: %w", name, err)
	}
	return nil
}

// takeLong returns the long result of the room of this name, nil for none.
func (w *worker) takeLong(name string) ([]byte, error) {
	file := w.inherited.Files[roomPrefix+name]
	if file == nil {
		return nil, nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot take over what the room %s has read: %w", name, err)
	}
	return io.ReadAll(io.NewSectionReader(file, 0, info.Size())) // all workers share the place in the file
}
