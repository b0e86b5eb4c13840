package load

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

const examplesMax = 10 // faults shown

// Validation compares replies with what is described of them. It takes time of the load, more than the
// request itself.
type Validation struct {
	Every int64 // one of so many replies is compared; 1 = all
	// Check reports how a reply differs from its description, nil where it does not.
	Check func(method, path string, status int, header http.Header, body []byte) error

	seen     atomic.Int64
	mu       sync.Mutex
	examined int
	wrong    int
	examples []string
}

// look compares a reply if it is its turn. A nil Validation compares none.
func (v *Validation) look(method, path string, rep reply) {
	if v == nil || v.seen.Add(1)%v.Every != 0 {
		return
	}
	header := http.Header{}
	for name, value := range rep.header.All() {
		header.Add(string(name), string(value))
	}
	err := v.Check(method, path, rep.status, header, rep.body)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.examined++
	if err == nil {
		return
	}
	v.wrong++
	if len(v.examples) < examplesMax {
		v.examples = append(v.examples, fmt.Sprint(err))
	}
}

// Result is the number of replies that were compared and of those that differ, with the first of these.
func (v *Validation) Result() (examined, wrong int, examples []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.examined, v.wrong, v.examples
}
