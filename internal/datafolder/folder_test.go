package datafolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, path string) *Folder {
	t.Helper()
	folder, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// wantError fails unless err's text has all parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %04o, want %04o", path, got, want)
	}
}

func TestOpenMakesAPrivateFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := open(t, "data")
	if !filepath.IsAbs(folder.Path()) || filepath.Base(folder.Path()) != "data" {
		t.Errorf("path %s", folder.Path())
	}
	wantMode(t, folder.Path(), 0o700)
	if again := open(t, folder.Path()); again.Path() != folder.Path() {
		t.Errorf("path %s when opened again, was %s", again.Path(), folder.Path())
	}
}

func TestOpenRefusesAFolderThatOthersMayWrite(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	wantError(t, err, path, "mode 0777", "chmod 700", "-data")
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	wantError(t, err, "cannot make data folder", path, "not a directory")
}

func TestWriteRootPassword(t *testing.T) {
	folder := open(t, t.TempDir())
	for _, password := range []string{"first", "second"} {
		if err := folder.WriteRootPassword(password); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(folder.RootPasswordPath())
		if err != nil || string(text) != password+"\n" {
			t.Errorf("file holds %q, %v", text, err)
		}
		wantMode(t, folder.RootPasswordPath(), 0o600)
	}
	wantFiles(t, folder, "root-password")
}

// wantFiles fails unless the folder holds just these files.
func wantFiles(t *testing.T, folder *Folder, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("folder holds %q, want %q", got, names)
	}
}

func TestSaleIsRememberedForItsRedis(t *testing.T) {
	f, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if id, err := f.Sale("cache:6379"); err != nil || id != "" {
		t.Errorf("before: %q, %v", id, err)
	}
	if err := f.WriteSale("abcdefgh", "cache:6379"); err != nil {
		t.Fatal(err)
	}
	for redis, want := range map[string]string{"cache:6379": "abcdefgh", "other:6379": "", "": ""} {
		if id, err := f.Sale(redis); err != nil || id != want {
			t.Errorf("sale at %q is %q, %v; want %q", redis, id, err, want)
		}
	}
}
