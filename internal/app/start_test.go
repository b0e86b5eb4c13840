package app

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/config"
	"flashsale/internal/store/datafolder"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

func settings(t *testing.T, args ...string) *config.Config {
	t.Helper()
	cfg, err := config.Parse(append([]string{"-data", t.TempDir()}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// openedSale returns a supervisor of a sale that is open in its store, as far as these tests need one.
func openedSale(t *testing.T, cfg *config.Config) *supervisor {
	t.Helper()
	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{cfg: cfg, folder: folder}
	if s.store, err = startStore(t.Context(), cfg, folder); err != nil {
		t.Fatal(err)
	}
	read, err := readRooms(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sale, err := openSale(t.Context(), cfg, folder, s.store, read)
	if err != nil {
		t.Fatal(err)
	}
	s.sale.Store(sale)
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A users.csv that ends within its last row is warned of at the start, and not taken by SIGHUP unless by
// force.
func TestCutOffUsers(t *testing.T) {
	log := testkit.CaptureLog(t)
	dir := t.TempDir()
	users := filepath.Join(dir, "users.csv")
	write(t, users, "id,name,password\n1,root,r\n2,ann,secret")
	write(t, filepath.Join(dir, "foods.csv"), "id,stock,price\n1,10,3\n")
	const warning = "users.csv ends in the middle of line 3; end it with a line break if it is whole"
	cfg := settings(t, "-redis", redistest.Memory(t), "-catalog-dir", dir)
	s := openedSale(t, cfg)
	if log.Count(warning) != 1 {
		t.Errorf("the start logs %s, want once %s", log, warning)
	}
	write(t, users, "id,name,password\n1,root,r\n2,ann,sec")
	next := s.serving().copy()
	if _, err := s.readCatalogue(t.Context(), next); err == nil || !strings.HasSuffix(err.Error(), warning) {
		t.Errorf("SIGHUP: %v, want %s", err, warning)
	}
	if _, _, ok := next.catalog.Authenticate([]byte("ann"), []byte("secret")); !ok {
		t.Error("SIGHUP has changed a password")
	}
	cfg.ForceReload = true
	if _, err := s.readCatalogue(t.Context(), next); err != nil || log.Count(warning) != 2 {
		t.Errorf("SIGHUP by force: %v, log %s", err, log)
	}
}

// The advice for a new sale names the file that remembers the old one only where there is such a file.
func TestAdviceNamesNoMissingFile(t *testing.T) {
	cfg := settings(t, "-redis", redistest.Memory(t))
	folder, err := datafolder.Open(cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} {
		if there {
			if err := folder.WriteSale("abcdefgh", "cache:6379"); err != nil {
				t.Fatal(err)
			}
		}
		store, err := startStore(t.Context(), cfg, folder)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(store.newSale, folder.SalePath()) != there {
			t.Errorf("advice %q, the file is there: %v", store.newSale, there)
		}
	}
}

// The advice to delete the folder tells that the blocklist is lost, too.
func TestNewSaleNamesTheBlocklist(t *testing.T) {
	folder, err := datafolder.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := "delete " + folder.Path() + " or choose another -data"
	if got := newPrivateSale(folder); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.WriteFile(folder.File(blocklistName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want = "delete " + folder.Path() +
		" (and with it the blocklist, which is then imported again) or choose another -data"
	if got := newPrivateSale(folder); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestUnreachableRedis(t *testing.T) {
	const address = "/nonexistent/redis.sock"
	_, err := useRedis(t.Context(), settings(t, "-redis", address), "")
	const want = "cannot reach Redis at " + address + ": dial unix " + address + ": connect: " +
		"no such file or directory; " +
		"start that Redis, or set REDIS_HOST and REDIS_PORT (or -redis) to the right one"
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

// The start waits for a Redis that reads its data; a signal ends the wait.
func TestRedisThatLoads(t *testing.T) {
	log := testkit.CaptureLog(t)
	redis := redistest.New(t, "--enable-debug-command", "yes")
	finish := redis.Load(t)
	cfg := settings(t, "-redis", redis.Socket)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := useRedis(ctx, cfg, ""); err == nil {
		t.Error("a signal does not end the wait")
	}
	started := make(chan error, 1)
	go func() {
		_, err := useRedis(t.Context(), cfg, "")
		started <- err
	}()
	finish()
	if err := <-started; err != nil {
		t.Errorf("%v, log %s", err, log)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"flashsale", "-version"}, {"flashsale", "--version", "x"}} {
		var out, errors strings.Builder
		code := Main(t.Context(), args, &out, &errors)
		if code != 0 || !strings.HasPrefix(out.String(), "flashsale ") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, &out, &errors)
		}
	}
}
