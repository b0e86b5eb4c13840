package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// clockVariable names, to the servers, the file that says how far their clock has jumped.
const clockVariable = "DRILL_CLOCK"

// The one line of package time by which every wall clock reading of a Go program passes, and what stands behind it in the
// server of a clock drill. The monotonic reading stays, as it does when a real clock is set.
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

// clock is the wall clock of the servers of a drill. To set that of the machine would disturb everything else on it, a time
// namespace does not shift it and libfaketime does not reach a Go program, so the server is built with a package time whose
// wall clock is shifted by a number in a file that all its processes map. The rest of it is the server as it is.
type clock struct {
	program string
	file    *os.File
}

// newClock builds that server, once; without a build cache it takes half a minute.
func newClock(ctx context.Context, p programs, folder string) (*clock, error) {
	c := &clock{program: filepath.Join(p.folder, "clock", "flashsale")}
	if _, err := os.Stat(c.program); err != nil {
		if err := c.build(ctx, filepath.Dir(c.program)); err != nil {
			return nil, err
		}
	}
	var err error
	if c.file, err = os.Create(filepath.Join(folder, "clock")); err != nil {
		return nil, fmt.Errorf("cannot make a clock: %w", err)
	}
	return c, c.jump(0)
}

func (c *clock) build(ctx context.Context, folder string) error {
	output, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("cannot find the sources of Go: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(output)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return fmt.Errorf("%w: the sources of package time: %w", errImpossible, err)
	}
	shifted, found := shiftClock(string(source))
	if !found {
		return fmt.Errorf("%w: package time of this Go reads its clock in another way than Go 1.26", errImpossible)
	}
	patch, added, overlay := filepath.Join(folder, "time.go"), filepath.Join(folder, "jump.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {
		original: patch, filepath.Join(filepath.Dir(original), "jump.go"): added,
	}})
	if err != nil {
		return fmt.Errorf("cannot write overlay: %w", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("cannot write overlay: %w", err)
	}
	for path, text := range map[string]string{patch: shifted, added: clockSource, overlay: string(replace)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("cannot write overlay: %w", err)
		}
	}
	return goBuild(ctx, c.program, "flashsale", "-overlay", overlay)
}

// shiftClock adds the jump to the source of package time.
func shiftClock(source string) (shifted string, found bool) {
	return strings.Replace(source, readsClock, clockJumped, 1), strings.Count(source, readsClock) == 1
}

func (c *clock) env() []string { return []string{clockVariable + "=" + c.file.Name()} }

// jump sets how far the clock is ahead of the true one, whole seconds; negative is behind.
func (c *clock) jump(ahead time.Duration) error {
	page := binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead/time.Second)))
	if _, err := c.file.WriteAt(page, 0); err != nil {
		return fmt.Errorf("cannot set the clock: %w", err)
	}
	return nil
}
