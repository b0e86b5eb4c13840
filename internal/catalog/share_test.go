package catalog

import (
	"errors"
	"flashsale/internal/testkit"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// workerVariable makes TestMapInAnotherProcess play the worker, which inherits the image as its first
// extra file.
const workerVariable = "CATALOG_TEST_WORKER"

func TestMapInAnotherProcess(t *testing.T) {
	if os.Getenv(workerVariable) != "" {
		mapped, err := Map(os.NewFile(3, "catalog"))
		testkit.Must(t, err)
		id, _, ok := mapped.Authenticate([]byte("user77"), []byte("pass77"))
		_, _, guessed := mapped.Authenticate([]byte("user77"), []byte("pass7"))
		fmt.Printf("\nfoods %s, users %d, user %d %v %v\n", mapped.Fingerprint(), mapped.Users(), id, ok, guessed)
		return
	}
	original := mustLoad(t, builtInConfig(100))
	file, err := original.File()
	testkit.Must(t, err)
	defer file.Close()
	worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMapInAnotherProcess$")
	worker.Env = append(os.Environ(), workerVariable+"=1")
	worker.ExtraFiles = []*os.File{file}
	output, err := worker.CombinedOutput()
	if err != nil {
		t.Fatalf("worker: %v\n%s", err, output)
	}
	want := "\nfoods " + original.Fingerprint() + ", users 100, user 77 true false\n"
	if !strings.Contains(string(output), want) {
		t.Errorf("worker prints %q, want %q", output, want)
	}
}

func TestFileIsSealed(t *testing.T) {
	file, err := mustLoad(t, builtInConfig(1)).File()
	testkit.Must(t, err)
	defer file.Close()
	if _, err := file.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("writing: %v, want %v", err, unix.EPERM)
	}
	if err := file.Truncate(0); !errors.Is(err, unix.EPERM) {
		t.Errorf("truncating: %v, want %v", err, unix.EPERM)
	}
}

func TestMapRefusesABadImage(t *testing.T) {
	good := mustLoad(t, builtInConfig(10)).image
	const unmatched = "cannot map catalogue file: catalogue image of %d bytes does not match its header"
	tests := []struct {
		name   string
		damage func(image []byte) []byte
		want   string
	}{
		{"empty", func([]byte) []byte { return nil },
			"cannot map catalogue file: 0 bytes are less than its header"},
		{"magic", func(image []byte) []byte { image[0]++; return image },
			"cannot map catalogue file: not a catalogue image"},
		{"cut", func(image []byte) []byte { return image[:len(image)-1] },
			fmt.Sprintf(unmatched, len(good)-1)},
		{"longer", func(image []byte) []byte { return append(image, 0) },
			fmt.Sprintf(unmatched, len(good)+1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := writeImage(t, test.damage(slices.Clone(good)))
			_, err := Map(file)
			wantError(t, err, test.want)
		})
	}
}

func writeImage(t *testing.T, image []byte) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "image"))
	testkit.Must(t, err)
	t.Cleanup(func() { file.Close() })
	if _, err := file.Write(image); err != nil {
		t.Fatal(err)
	}
	return file
}
