// Package testkit is for the tests of any package: comparisons, a wait for a state, files, the log,
// the seeds of fuzz targets. README.md lists the other helpers, and which package proves what.
package testkit

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// Must ends the test on an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Need finds a program on PATH. Without it the test is skipped; with REQUIRE_REAL=1 it fails.
func Need(tb testing.TB, program string) (path string) {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("REQUIRE_REAL") == "1" {
		tb.Fatalf("REQUIRE_REAL=1, but there is no %s on PATH: install it", program)
	} else if err != nil {
		tb.Skipf("no %s on PATH: install it to run this test", program)
	}
	return path
}

// Allocations is how often a call of f allocates. Under the race detector, which allocates itself, it is 0.
func Allocations(f func()) float64 {
	allocations := testing.AllocsPerRun(200, f)
	if Race {
		return 0
	}
	return allocations
}

// Background runs f beside the test until stop is called or the test ends. An error of f fails the test.
func Background(tb testing.TB, f func(context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f(ctx); err != nil {
			tb.Error(err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	tb.Cleanup(stop)
	return stop
}

// Folder makes a folder with a short path, because the path of a unix socket has a limit.
func Folder(tb testing.TB) string {
	tb.Helper()
	folder, err := os.MkdirTemp("", "sale")
	Must(tb, err)
	tb.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// ReadFile returns the text of a file.
func ReadFile(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	Must(tb, err)
	return string(text)
}

// WriteFile writes a text into a file and makes its folder.
func WriteFile(tb testing.TB, path, text string) {
	tb.Helper()
	Must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(tb, os.WriteFile(path, []byte(text), 0o600))
}

// AtOnce has at least n tests run at once, of those that are marked parallel: they mostly wait. It is for
// TestMain; the command line may have another number.
func AtOnce(n int) {
	flag.Parse()
	f := flag.Lookup("test.parallel")
	if f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < n {
		_ = f.Value.Set(strconv.Itoa(n)) // which the flag takes
	}
}
