package datafolder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

func open(t *testing.T, path string) *Folder {
	t.Helper()
	folder, err := Open(path)
	testkit.Must(t, err)
	return folder
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	testkit.Must(t, err)
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
	testkit.Must(t, os.Chmod(path, 0o777))
	_, err := Open(path)
	testkit.Tells(t, err, path, "mode 0777", "chmod 700", "-data")
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	testkit.Must(t, os.WriteFile(path, nil, 0o600))
	_, err := Open(path)
	testkit.Tells(t, err, "cannot make data folder", path, "not a directory")
}

func TestWriteRootPassword(t *testing.T) {
	folder := open(t, t.TempDir())
	for _, password := range []string{"first", "second"} {
		testkit.Must(t, folder.WriteRootPassword(password))
		text, err := os.ReadFile(folder.File("root-password"))
		if err != nil || string(text) != password+"\n" {
			t.Errorf("file holds %q, %v", text, err)
		}
		wantMode(t, folder.File("root-password"), 0o600)
	}
	wantFiles(t, folder, "root-password")
}

// wantFiles fails unless the folder holds just these files.
func wantFiles(t *testing.T, folder *Folder, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder.Path())
	testkit.Must(t, err)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("folder holds %q, want %q", got, names)
	}
}

func TestSaleIsRemembered(t *testing.T) {
	f := open(t, t.TempDir())
	if served, err := f.Served(); err != nil || served != (Served{}) {
		t.Errorf("before: %+v, %v", served, err)
	}
	for _, want := range []Served{{"abcdefgh", "cache:6379"}, {"ijklmnop", "/run/a redis.sock"}} {
		testkit.Must(t, f.WriteSale(want.Sale, want.Redis))
		if served, err := f.Served(); err != nil || served != want {
			t.Errorf("%+v, %v; want %+v", served, err, want)
		}
	}
}

// What did not come from WriteSale is refused: the server would take it for a sale of an unknown Redis.
func TestDamagedSaleIsRefused(t *testing.T) {
	f := open(t, t.TempDir())
	for _, text := range []string{"garbage\n", "", "abcdefgh", "abcdefgh \n", "abcdefgh cache:6379",
		"ABCDEFGH cache:6379\n", "abcdefgh  \n", "a\nbcdefgh cache:6379\n", "abcdefgh cache\n:6379\n"} {
		testkit.WriteFile(t, f.SalePath(), text)
		_, err := f.Served()
		testkit.Tells(t, err, f.SalePath()+" does not name a sale and its Redis, as it should; restore it, "+
			"or make sure that REDIS_HOST is right and delete it")
	}
}

// A link in the folder is not followed, neither when the folder is opened nor later.
func TestLinksAreRefused(t *testing.T) {
	for _, name := range []string{lockName, tokenSecretName, saleName, rootPasswordName, "redis.log",
		"appendonlydir"} {
		t.Run(name, func(t *testing.T) {
			folder, elsewhere := open(t, t.TempDir()), filepath.Join(t.TempDir(), "elsewhere")
			testkit.WriteFile(t, elsewhere, strings.Repeat("5e", SecretBytes)+"\n")
			testkit.Must(t, os.Symlink(elsewhere, folder.File(name)))
			want := folder.File(name) + " is a symbolic link; remove it, or choose another folder with -data"
			_, err := Open(folder.Path())
			testkit.Tells(t, err, want)
			uses := map[string]func() error{
				lockName:        folder.Lock,
				tokenSecretName: func() error { _, err := folder.TokenSecret(); return err },
				saleName:        func() error { _, err := folder.Served(); return err },
			}
			if use, found := uses[name]; found {
				testkit.Tells(t, use(), want)
			}
			_, err = folder.OpenFile(name, os.O_RDWR)
			testkit.Tells(t, err, want)
			testkit.Must(t, folder.WriteRootPassword("root's"))
			testkit.Must(t, folder.WriteSale("abcdefgh", "cache:6379"))
			if text, err := os.ReadFile(elsewhere); err != nil || string(text) != strings.Repeat("5e", 32)+"\n" {
				t.Errorf("the file behind the link holds %q, %v", text, err)
			}
		})
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	folder := open(t, t.TempDir())
	testkit.Must(t, unix.Mkfifo(folder.File(tokenSecretName), 0o600))
	_, err := folder.TokenSecret()
	testkit.Tells(t, err, folder.File(tokenSecretName)+" is not a regular file")
}

// owned is a file of this user.
type owned struct {
	os.FileInfo
	user uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.user} }

func TestOtherOwnersAreRefused(t *testing.T) {
	me := uint32(os.Geteuid())
	for _, user := range []uint32{0, me} {
		if err := checkOwner("data folder x", owned{user: user}); err != nil {
			t.Errorf("user %d: %v", user, err)
		}
	}
	err := checkOwner("data folder x", owned{user: me + 1})
	testkit.Tells(t, err, fmt.Sprintf("data folder x belongs to user %d, and this server runs as user %d; run "+
		"chown on it or choose another folder with -data", me+1, me))
	if me != 0 {
		return // only root can give a file away
	}
	folder := open(t, t.TempDir())
	testkit.Must(t, os.Chown(folder.Path(), 12345, -1))
	_, err = Open(folder.Path())
	testkit.Tells(t, err, "data folder "+folder.Path()+" belongs to user 12345")
	testkit.WriteFile(t, folder.File(tokenSecretName), strings.Repeat("5e", SecretBytes))
	testkit.Must(t, os.Chown(folder.File(tokenSecretName), 12345, -1))
	_, err = folder.TokenSecret()
	testkit.Tells(t, err, folder.File(tokenSecretName)+" belongs to user 12345")
}

// The folder itself may be a link: systemd's state directories are.
func TestFolderByLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	testkit.Must(t, os.Symlink(t.TempDir(), link))
	if f := open(t, link); f.Path() != link {
		t.Errorf("path %s", f.Path())
	}
}
