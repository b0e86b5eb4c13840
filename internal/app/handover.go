package app

import (
	"encoding/json"
	"fmt"
	"os"

	"flashsale/internal/catalog"
	"flashsale/internal/serve/listener"
	"flashsale/internal/supervise"
	"flashsale/redisx"
)

// The names of the files of a handover.
const (
	catalogFile = "catalog"
	figuresFile = "figures"
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

// pack makes the handover to all workers. The caller closes the file of the catalogue.
func (o *opening) pack() (supervise.Handover, error) {
	file, err := o.catalog.File()
	if err != nil {
		return nil, err
	}
	value := o.handover
	value.Rooms = map[string]json.RawMessage{}
	for name, read := range o.rooms {
		if value.Rooms[name], err = json.Marshal(read); err != nil {
			return nil, err
		}
	}
	files := map[string]*os.File{catalogFile: file, figuresFile: o.figures}
	parcel := supervise.Parcel{Value: value, Files: files}
	return supervise.Handover{saleRole: parcel, pushRole: parcel}, nil
}

// catalogFiles are the catalogues in a handover.
func catalogFiles(h supervise.Handover) []*os.File { return []*os.File{h[saleRole].Files[catalogFile]} }

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
