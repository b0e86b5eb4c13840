package app

import (
	"os"

	"flashsale/handlers"
	"flashsale/internal/catalog"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/serve/listener"
	"flashsale/internal/supervise"
	"flashsale/redisx"
)

// The names of the files of a handover.
const (
	catalogFile = "catalog"
	figuresFile = "figures"
)

// handover is the part of an opening that a worker gets as a value; the catalogue and the figures come as
// files.
type handover struct {
	Redis       redisx.Config
	Sale        string
	Secrets     [][]byte // the current one, which signs, then older ones, which still verify
	Certificate listener.Certificate

	ServiceToken string // of other programs, "" for none

	VK        []handlers.VKGroup // of the bot; none for no bot
	Limits    []limits.Rule
	LimitsOff bool
	Blocklist string // path of the snapshot of the list of invalid passports, "" for none
}

// pack makes the handover to all workers. Its files are open.
func (o *opening) pack() (supervise.Handover, error) {
	file, err := o.catalog.File()
	if err != nil {
		return nil, err
	}
	files := map[string]*os.File{catalogFile: file, figuresFile: o.figures}
	return supervise.Handover{saleRole: {Value: o.handover, Files: files}}, nil
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
