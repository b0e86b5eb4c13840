package datafolder

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

func TestLockNamesTheOwner(t *testing.T) {
	path := t.TempDir()
	first, second := open(t, path), open(t, path)
	if first.LockFile() != nil {
		t.Error("lock file before Lock")
	}
	testkit.Must(t, first.Lock())
	err := second.Lock()
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("second instance got %v, want ErrInUse", err)
	}
	want := fmt.Sprintf("data folder %s is in use by process %d; stop it or choose another with -data", path,
		os.Getpid())
	if err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	testkit.Must(t, first.Unlock())
	if err := second.Lock(); err != nil {
		t.Errorf("lock after unlock: %v", err)
	}
}

func TestLockStaysWithAChildThatInheritedIt(t *testing.T) {
	path := t.TempDir()
	first, second := open(t, path), open(t, path)
	testkit.Must(t, first.Lock())
	store := exec.Command("cat")
	store.ExtraFiles = []*os.File{first.LockFile()}
	input, err := store.StdinPipe()
	testkit.Must(t, err)
	testkit.Must(t, store.Start())
	testkit.Must(t, first.Unlock())
	testkit.Wants(t, "lock while the child lives", second.Lock(), ErrInUse)
	input.Close()
	testkit.Must(t, store.Wait())
	if err := second.Lock(); err != nil {
		t.Errorf("lock after the child's end: %v", err)
	}
}

// abandon locks the folder as the store of a dead owner does.
func abandon(t *testing.T, folder *Folder, owner int) *os.File {
	t.Helper()
	file, err := os.OpenFile(folder.File(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	testkit.Must(t, err)
	t.Cleanup(func() { file.Close() })
	testkit.Must(t, unix.Flock(int(file.Fd()), unix.LOCK_EX))
	if _, err := file.WriteString(strconv.Itoa(owner) + "\n"); err != nil {
		t.Fatal(err)
	}
	return file
}

// deadProcess returns the ID of a process that has just ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	testkit.Must(t, cmd.Run())
	return cmd.Process.Pid
}

func TestLockWaitsForTheStoreOfADeadOwner(t *testing.T) {
	folder := open(t, t.TempDir())
	store := abandon(t, folder, deadProcess(t))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		go func() {
			time.Sleep(4990 * time.Millisecond)
			store.Close()
		}()
		testkit.Must(t, folder.Lock())
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("lock took %v, want 5s", took)
		}
	})
	text, err := os.ReadFile(folder.File(lockName))
	if want := strconv.Itoa(os.Getpid()) + "\n"; err != nil || string(text) != want {
		t.Errorf("lock file holds %q, %v; want %q", text, err, want)
	}
}

func TestLockGivesUpOnAStoreThatStays(t *testing.T) {
	folder := open(t, t.TempDir())
	dead := deadProcess(t)
	abandon(t, folder, dead)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := folder.Lock()
		if !errors.Is(err, ErrInUse) {
			t.Errorf("error %v, want ErrInUse", err)
		}
		testkit.Tells(t, err, folder.Path(), fmt.Sprintf("process %d, which has ended", dead), "-data")
		if took := time.Since(start); took != lockWait {
			t.Errorf("lock gave up after %v, want %v", took, lockWait)
		}
	})
}

// Only a whole line names the owner: the next owner may be writing it.
func TestHalfWrittenOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockName)
	for text, want := range map[string]int{"123\n": 123, "123": 0, "\n": 0, "": 0, "0x10\n": 0} {
		testkit.WriteFile(t, path, text)
		file, err := os.Open(path)
		testkit.Must(t, err)
		if got := readOwner(file); got != want {
			t.Errorf("%q names process %d, want %d", text, got, want)
		}
		file.Close()
	}
}
