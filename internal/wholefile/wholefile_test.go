package wholefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
)

// put writes a file with the text, and with an error at its end.
func put(path, text string, err error) error {
	return Write(path, func(w *os.File) error {
		_, writing := w.WriteString(text)
		return errors.Join(writing, err)
	})
}

// A file is replaced by a whole text only, and nothing else is left in its folder.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.csv")
	check := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		entries, _ := os.ReadDir(filepath.Dir(path))
		if err != nil || string(text) != want || len(entries) != 1 {
			t.Errorf("the file is %q, %v, in a folder of %d; want %q", text, err, len(entries), want)
		}
	}
	testkit.Must(t, put(path, "whole", nil))
	check("whole")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	broken := errors.New("cut off")
	if err := put(path, "a part", broken); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	check("whole")
	testkit.Must(t, put(path, "another", nil))
	check("another")
	if err := put(filepath.Join(path, "below"), "", nil); err == nil {
		t.Error("a file below a file is written")
	}
}

// A link stays where it is, and the file behind it is replaced; a pipe is written to.
func TestKeepsLinksAndPipes(t *testing.T) {
	dir := t.TempDir()
	file, link, broken := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "broken")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Symlink("file", link),
		os.Symlink("nothing", broken)); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, put(link, "whole", nil))
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "whole" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
	const toNothing = "it is a symbolic link to nothing"
	if err := put(broken, "whole", nil); err == nil || !strings.HasSuffix(err.Error(), toNothing) {
		t.Errorf("a link to nothing: %v", err)
	}
	if err := put(dir, "whole", nil); err == nil {
		t.Error("a folder is written")
	}

	pipe := filepath.Join(dir, "pipe")
	testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that no open of it waits for the other
	testkit.Must(t, err)
	defer reader.Close()
	testkit.Must(t, put(pipe, "whole", nil))
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Fatalf("in the place of the pipe there is %v, %v", info, err)
	}
	text := make([]byte, 10)
	if n, err := reader.Read(text); err != nil || string(text[:n]) != "whole" {
		t.Errorf("from the pipe comes %q, %v", text[:n], err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}
