package launch

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ErrNoClock: the programs of this Go cannot be given a clock.
var ErrNoClock = errors.New("no clock can be given")

// clockVariable names the file with the jump of a program's clock, in its environment.
const clockVariable = "FLASHSALE_TEST_CLOCK"

// The one line of package time that every wall clock reading of a Go program passes, and the lines added
// behind it for such a clock. The monotonic reading stays, as it does when a real clock is set.
const (
	readsClock  = "sec, nsec, mono := runtimeNow()\n"
	clockJumped = readsClock + "\tsec += clockJump()\n"
)

// clockSource is added to package time.
const clockSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var clockPage = mapClock()

func mapClock() *int64 {
	path, _ := syscall.Getenv("` + clockVariable + `")
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}

func clockJump() int64 {
	if clockPage == nil {
		return 0
	}
	return atomic.LoadInt64(clockPage)
}
`

// Clock is the wall clock of programs that BuildWithClock has built, with a changed package time: all their
// processes map a file, and a number in it shifts their wall clock. Setting the clock of the machine would
// disturb other programs, a time namespace does not shift the wall clock, and libfaketime does not reach a
// Go program.
type Clock struct{ file *os.File }

// NewClock makes a clock that is right, with its file in the folder.
func NewClock(folder string) (*Clock, error) {
	file, err := os.Create(filepath.Join(folder, "clock"))
	if err != nil {
		return nil, fmt.Errorf("cannot make a clock: %w", err)
	}
	c := &Clock{file}
	return c, c.Jump(0)
}

// BuildWithClock builds a package as Build does, with a Clock; without a build cache it takes half a minute.
// ErrNoClock if package time differs from that of Go 1.26.
func BuildWithClock(ctx context.Context, source string) (path string, err error) {
	overlay, err := clockOverlay()
	if err != nil {
		return "", err
	}
	return Build(ctx, source, "-overlay", overlay)
}

// clockOverlay writes the changed package time, once, and returns the overlay file for "go build".
var clockOverlay = sync.OnceValues(func() (overlay string, err error) {
	output, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the sources of Go: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(output)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("%w: the sources of package time: %w", ErrNoClock, err)
	}
	shifted, found := shiftClock(string(source))
	if !found {
		return "", fmt.Errorf("%w: package time of this Go reads its clock in another way than Go 1.26",
			ErrNoClock)
	}
	folder, err := LastingFolder("clock")
	if err != nil {
		return "", err
	}
	changed, added := filepath.Join(folder, "time.go"), filepath.Join(folder, "jump.go")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {
		original: changed, filepath.Join(filepath.Dir(original), "jump.go"): added,
	}})
	overlay = filepath.Join(folder, "overlay.json")
	for path, text := range map[string]string{changed: shifted, added: clockSource, overlay: string(replace)} {
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
	}
	if err != nil {
		return "", fmt.Errorf("cannot write overlay: %w", err)
	}
	return overlay, nil
})

// shiftClock adds the jump to the source of package time.
func shiftClock(source string) (shifted string, found bool) {
	return strings.Replace(source, readsClock, clockJumped, 1), strings.Count(source, readsClock) == 1
}

// Env is the environment of a program with this clock.
func (c *Clock) Env() []string { return []string{clockVariable + "=" + c.file.Name()} }

// Jump sets the clock ahead of the true time by whole seconds; negative is behind.
func (c *Clock) Jump(ahead time.Duration) error {
	page := binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead/time.Second)))
	if _, err := c.file.WriteAt(page, 0); err != nil {
		return fmt.Errorf("cannot set the clock: %w", err)
	}
	return nil
}
