package load

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

const examplesMax = 10 // faults shown

// Validation compares replies with their description. A comparison takes more time of the load than the
// request itself.
type Validation struct {
	Every int64 // the interval between compared replies; 1 = all
	// Check returns the difference of a reply from its description, nil for no difference.
	Check func(method, path string, status int, header http.Header, body []byte) error

	seen     atomic.Int64
	mu       sync.Mutex
	examined int
	wrong    int
	examples []string
}

// look compares every reply that is due. A nil Validation compares nothing.
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

// Result is the number of compared replies and of differing replies, with the first differences.
func (v *Validation) Result() (examined, wrong int, examples []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.examined, v.wrong, v.examples
}
