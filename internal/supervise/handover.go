package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// roleVariable tells a process that it is a worker: its role and slot number, such as sale/0. Everything
	// else comes by descriptor, because ps shows arguments and environment to other users.
	roleVariable = "FLASHSALE_WORKER"

	// Descriptors that a worker inherits. The role's listening socket, if it has one, and the handover's files
	// follow.
	handoverDescriptor = 3
	readyDescriptor    = 4
	firstDescriptor    = 5

	valueMost    = 1 << 20 // bytes of JSON
	filesMost    = 64
	fileNameMost = 64 // bytes
	envelopeMost = valueMost + 16*filesMost*fileNameMost
)

// Handover holds a Parcel for each role. The supervisor passes the Parcel to each worker at its start.
type Handover map[string]Parcel

// Parcel is the handover to each worker of a role.
type Parcel struct {
	Value any // anything that becomes JSON, of at most 1 MiB: secrets and computed settings
	// At most 64 files. They must stay open while workers are started with this handover.
	Files map[string]*os.File
}

// envelope is the form in which a parcel is sent.
type envelope struct {
	Value   json.RawMessage
	Files   []string // their names, in the order of the descriptors
	Listens bool     // a listening socket comes with it
}

func (e envelope) check() error {
	if len(e.Value) > valueMost {
		return fmt.Errorf("its value has %d bytes, the limit is %d", len(e.Value), valueMost)
	}
	if len(e.Files) > filesMost {
		return fmt.Errorf("it has %d files, the limit is %d", len(e.Files), filesMost)
	}
	seen := map[string]bool{}
	for _, name := range e.Files {
		if name == "" || len(name) > fileNameMost || seen[name] {
			return fmt.Errorf("it has a file named %.*q; a name has 1 to %d bytes and is there once", fileNameMost,
				name, fileNameMost)
		}
		seen[name] = true
	}
	return nil
}

// packed is a parcel that can be sent to any number of workers.
type packed struct {
	text  []byte // an envelope in JSON
	files []*os.File
}

// pack packs the parcel of a role.
func (h Handover) pack(role Role) (packed, error) {
	fail := func(err error) (packed, error) {
		return packed{}, fmt.Errorf("cannot hand over to %s workers: %w", role.Name, err)
	}
	parcel, found := h[role.Name]
	if !found {
		return fail(errors.New("the handover has nothing for them"))
	}
	value, err := encode(parcel.Value)
	if err != nil {
		return fail(err)
	}
	e := envelope{Value: value, Files: slices.Sorted(maps.Keys(parcel.Files)), Listens: role.Address != ""}
	if err := e.check(); err != nil {
		return fail(err)
	}
	var p packed
	for _, name := range e.Files {
		p.files = append(p.files, parcel.Files[name])
	}
	p.text, err = encode(e)
	if err != nil {
		return fail(err)
	}
	return p, nil
}

// encode is json.Marshal without the escapes for HTML, which would make a value longer than measured.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// seal writes the parcel to a nameless file in memory, for one worker to read. A pipe would need a goroutine
// that writes while the worker reads.
func (p packed) seal() (*os.File, error) {
	descriptor, err := unix.MemfdCreate("handover", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make handover: %w", err)
	}
	file := os.NewFile(uintptr(descriptor), "handover")
	if _, err = file.Write(p.text); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot make handover: %w", err)
	}
	return file, nil
}

// unseal reads what seal wrote.
func unseal(file *os.File) (envelope, error) {
	var e envelope
	err := json.NewDecoder(io.LimitReader(file, envelopeMost)).Decode(&e)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return envelope{}, fmt.Errorf("cannot read handover: %w (%s is set by the supervisor only: unset it)", err,
			roleVariable)
	}
	return e, nil
}
