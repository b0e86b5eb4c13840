package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/store/datafolder"
	"flashsale/internal/testkit"
)

func lock(t *testing.T, path string) *datafolder.Folder {
	t.Helper()
	testkit.KeepLog(t)
	folder, err := datafolder.Open(path)
	testkit.Must(t, err)
	testkit.Must(t, folder.Lock())
	return folder
}

// run starts a store and runs it until the returned stop is called, or the test ends.
func run(t *testing.T, folder *datafolder.Folder) (*Store, func()) {
	t.Helper()
	store, err := Start(t.Context(), Config{Folder: folder})
	testkit.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := store.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
	}()
	stop := func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return store, stop
}

func wantAnswer(t *testing.T, store *Store, line, want string) {
	t.Helper()
	if got, err := command(store, line); err != nil || got != want {
		t.Errorf("%s answered %q, %v; want %q", line, got, err, want)
	}
}

// fakeServer puts a script in the place of redis-server.
func fakeServer(t *testing.T, script string) {
	t.Helper()
	programs := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(programs, "redis-server"), []byte("#!/bin/sh\n"+script+"\n"),
		0o700))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
}

func TestStartRefusesAFolderThatIsNotLocked(t *testing.T) {
	folder, err := datafolder.Open(testkit.Folder(t))
	testkit.Must(t, err)
	_, err = Start(t.Context(), Config{Folder: folder})
	testkit.Tells(t, err, "cannot start store", "not locked")
}

func TestMemoryWhereNoServerIsInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	store, stop := run(t, lock(t, testkit.Folder(t)))
	if store.Network != "tcp" || !strings.HasPrefix(store.Address, "127.0.0.1:") || store.Durable ||
		len(store.Password) < 20 {
		t.Errorf("store %+v", store)
	}
	if !strings.Contains(store.Description(), "NOTHING survives a restart") {
		t.Errorf("description %q", store.Description())
	}
	stranger := *store
	stranger.Password = ""
	_, err := command(&stranger, "GET a")
	testkit.Tells(t, err, "NOAUTH Authentication required.")

	wantAnswer(t, store, "SET stays 1", "OK")
	wantAnswer(t, store, "SET long 1 PX 3600000", "OK")
	wantAnswer(t, store, "SET short 1 PX 300", "OK")
	wantAnswer(t, store, "EXISTS short", "1")
	testkit.Until(t, "expiry", func() bool {
		answer, err := command(store, "EXISTS short")
		return err == nil && answer == "0"
	})
	wantAnswer(t, store, "EXISTS stays", "1")
	wantAnswer(t, store, "EXISTS long", "1")
	stop()
	if _, err := command(store, "PING"); err == nil {
		t.Error("store answers after its stop")
	}
}

// What redis-server has kept must not be sold again from memory because redis-server is gone.
func TestMemoryRefusesAFolderWithAKeptSale(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	folder := lock(t, testkit.Folder(t))
	testkit.Must(t, os.Mkdir(folder.File(appendFolder), 0o700))
	_, err := Start(t.Context(), Config{Folder: folder})
	want := "there is no redis-server on PATH, but " + folder.Path() +
		" holds a sale of a redis-server; install redis-server to go on with it, or choose another -data"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestStartTellsWhyTheServerEnded(t *testing.T) {
	fakeServer(t, `echo "an old line" >/dev/null; echo "*** FATAL ***"; echo "Bad directive" >&2; exit 3`)
	path := testkit.Folder(t)
	testkit.Must(t, os.WriteFile(filepath.Join(path, logName), []byte("line of an earlier start\n"),
		0o600))
	_, err := Start(t.Context(), Config{Folder: lock(t, path)})
	testkit.Tells(t, err, "redis-server ended before it answered (exit status 3)", logName,
		"*** FATAL *** | Bad directive")
	if strings.Contains(err.Error(), "earlier start") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	path := testkit.Folder(t)
	started := filepath.Join(path, "started")
	fakeServer(t, `echo $$ >`+started+`; exec sleep 60`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		testkit.Until(t, "start", func() bool {
			text, _ := os.ReadFile(started)
			return strings.HasSuffix(string(text), "\n")
		})
	}()
	folder := lock(t, path)
	if _, err := Start(ctx, Config{Folder: folder}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	// The child held the lock too, so this shows that it has ended.
	testkit.Must(t, folder.Unlock())
	lock(t, path)
}

func TestSocketPathTooLong(t *testing.T) {
	fakeServer(t, "exit 1")
	path := filepath.Join(testkit.Folder(t), strings.Repeat("x", socketPathMost))
	_, err := Start(t.Context(), Config{Folder: lock(t, path)})
	socket := filepath.Join(path, socketName)
	testkit.Tells(t, err, socket, fmt.Sprintf("has %d bytes and the limit is 107", len(socket)),
		"shorter -data")
}
