package blocklist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// site serves one list, as a web server does, and notes what it was asked.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	body   []byte
	etag   string
	cutAt  int // bytes after which a reply breaks, 0 for none
	failed int // replies of 503 that are still to come
	asked  []string
}

func newSite(tb testing.TB, body []byte) *site {
	s := &site{body: body, etag: `"1"`}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.Close)
	return s
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+r.Header.Get("Range"))
	if s.failed > 0 {
		s.failed--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("ETag", s.etag)
	if s.cutAt == 0 || r.Method == http.MethodHead {
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), strings.NewReader(string(s.body)))
		return
	}
	http.ServeContent(&cutting{w, s.cutAt}, r, "", time.Unix(1_700_000_000, 0),
		strings.NewReader(string(s.body)))
	if s.cutAt < len(s.body) {
		panic(http.ErrAbortHandler)
	}
}

func (s *site) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// calls returns what was asked since the last time.
func (s *site) calls() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.asked, " ")
	s.asked = nil
	return all
}

// cutting passes some bytes on and loses the rest.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	_, err := c.ResponseWriter.Write(p[:n])
	if c.left -= n; c.left == 0 && err == nil {
		err = errors.New("cut")
	}
	return n, err
}

// keeper makes a Keeper that is quick to try again.
func keeper(tb testing.TB, cfg Config) *Keeper {
	tb.Helper()
	testkit.KeepLog(tb)
	if cfg.Path == "" {
		cfg.Path = filepath.Join(tb.TempDir(), "snapshot")
	}
	cfg.Refresh = time.Hour
	k, err := NewKeeper(cfg)
	testkit.Must(tb, err)
	k.lookEvery, k.retryMin, k.retryMax = 5*time.Millisecond, time.Millisecond, 5*time.Millisecond
	if web, ok := k.source.(*webSource); ok {
		web.pauseMin, web.pauseMax = time.Millisecond, 5*time.Millisecond
	}
	if k.share != nil {
		k.share.pause = 0
	}
	return k
}

// documents returns n rows that follow each other.
func documents(n int) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf("4509,%06d", i))
	}
	return rows
}

// refresh looks at the source once, as Run does.
func (k *Keeper) refresh(ctx context.Context) error { return k.finish(ctx, <-k.begin(ctx).done) }

func refresh(k *Keeper) error { return k.refresh(context.Background()) }

// The list is taken once for each version of the source, and a restart takes it from its snapshot.
func TestRefreshTakesEachVersionOnce(t *testing.T) {
	s := newSite(t, pack(t, csv(documents(1000)...)))
	k := keeper(t, Config{Source: s.URL})
	testkit.Must(t, refresh(k))
	if k.info.Stored != 1000 || k.info.Rows != 1000 || k.info.Source.Date().Unix() != 1_700_000_000 {
		t.Errorf("info %+v", k.info)
	}
	s.calls()
	testkit.Must(t, refresh(k))
	if calls := s.calls(); calls != "HEAD" {
		t.Errorf("an unchanged list costs %s", calls)
	}
	again := keeper(t, Config{Source: s.URL, Path: k.cfg.Path})
	testkit.Must(t, refresh(again))
	if calls := s.calls(); calls != "HEAD" || again.info != k.info {
		t.Errorf("after a restart: %s, %+v", calls, again.info)
	}
	s.change(func() { s.etag, s.body = `"2"`, pack(t, csv(documents(900)...)) })
	testkit.Must(t, refresh(k))
	if k.info.Stored != 900 {
		t.Errorf("the changed list has %d documents, want 900", k.info.Stored)
	}
}

// A look at the source is good when it gives a list that is taken, and when the list has not changed.
func TestChecked(t *testing.T) {
	s := newSite(t, pack(t, csv(documents(1000)...)))
	k := keeper(t, Config{Source: s.URL})
	long := time.UnixMilli(1)
	for _, test := range []struct {
		name   string
		change func()
		good   bool
	}{
		{"the first list", func() {}, true},
		{"the same list", func() {}, true},
		{"no answer", func() { s.failed = 2 }, false}, // to HEAD and GET
		{"a list that has shrunk", func() { s.etag, s.body = `"2"`, pack(t, csv(documents(9)...)) }, false},
		{"another list", func() { s.etag, s.body = `"3"`, pack(t, csv(documents(999)...)) }, true},
	} {
		k.checked.Store(long.UnixMilli())
		s.change(test.change)
		err := refresh(k)
		if good := k.Checked().After(long); good != test.good || (err == nil) != test.good {
			t.Errorf("%s: error %v, checked %v", test.name, err, k.Checked())
		}
	}
	if again := keeper(t, Config{Source: s.URL, Path: k.cfg.Path}); !again.Checked().IsZero() {
		t.Errorf("checked %v before the first look", again.Checked())
	}
}

// Of a source without HEAD a list that has not changed is not read.
func TestSourceWithoutHead(t *testing.T) {
	body, sent := pack(t, csv("4509,000001")), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		sent++
		w.Header().Set("ETag", `"7"`)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	k := keeper(t, Config{Source: server.URL})
	testkit.Must(t, refresh(k))
	if err := k.read(t.Context(), k.info).err; !errors.Is(err, errUnchanged) || sent != 2 {
		t.Errorf("the same list again: %v, asked %d times", err, sent)
	}
}

// A list that is empty or much shorter is refused, and the old one stays; with Force it is taken.
func TestShrunkListIsRefused(t *testing.T) {
	s := newSite(t, pack(t, csv(documents(1000)...)))
	k := keeper(t, Config{Source: s.URL})
	testkit.Must(t, refresh(k))
	for i, rows := range []int{0, 799} {
		s.change(func() { s.etag, s.body = fmt.Sprintf(`"short%d"`, i), pack(t, csv(documents(rows)...)) })
		if err := refresh(k); !errors.Is(err, ErrShrunk) || k.info.Stored != 1000 {
			t.Errorf("%d rows: %v, %d stored", rows, err, k.info.Stored)
		}
	}
	forced := keeper(t, Config{Source: s.URL, Path: k.cfg.Path, Force: true})
	testkit.Must(t, refresh(forced))
	s.change(func() { s.etag, s.body = `"short enough"`, pack(t, csv(documents(640)...)) })
	k = keeper(t, Config{Source: s.URL, Path: k.cfg.Path})
	testkit.Must(t, refresh(k))
	if forced.info.Stored != 799 || k.info.Stored != 640 {
		t.Errorf("%d and %d stored, want 799 and 640", forced.info.Stored, k.info.Stored)
	}
}

// A transfer that breaks again and again goes on where it broke, and only there.
func TestBrokenTransferIsResumed(t *testing.T) {
	var rows []string
	for i := range 30_000 {
		rows = append(rows, fmt.Sprintf("%04d,%06d", i*7919%10_000, i*7919%1_000_000))
	}
	s := newSite(t, pack(t, csv(rows...)))
	s.cutAt = len(s.body)/4 + 1
	k := keeper(t, Config{Source: s.URL})
	testkit.Must(t, refresh(k))
	if int(k.info.Rows) != len(rows) || k.info.Malformed != 0 {
		t.Errorf("info %+v", k.info)
	}
	want := fmt.Sprintf("HEAD GET GETbytes=%d- GETbytes=%d- GETbytes=%d-", s.cutAt, 2*s.cutAt, 3*s.cutAt)
	if calls := s.calls(); calls != want {
		t.Errorf("asked %s, want %s", calls, want)
	}
}

// What is cut off, damaged or not packed is named as that, and leaves no snapshot and no goroutine behind.
func TestBadListIsRefused(t *testing.T) {
	folder, whole := t.TempDir(), pack(t, csv(documents(40_000)...))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 0xff
	testkit.Must(t, os.Mkdir(filepath.Join(folder, "a folder"), 0o700))
	for name, test := range map[string]struct {
		body []byte
		want string
	}{
		"empty":             {nil, "the list is cut off"},
		"short":             {whole[:2], "the list is cut off"},
		"cut off":           {whole[:len(whole)/2], "the list is cut off after "},
		"last byte missing": {whole[:len(whole)-1], "the list is cut off after "},
		"damaged":           {damaged, "cannot read the list after "},
		"not packed":        {[]byte(csv("1234,123456")), "the list is not packed with bzip2"},
		"another file":      {pack(t, "<html>"), `the list begins with "<html>"; it must begin with ` + header},
		"a folder":          {nil, "cannot read the list: " + folder + "/a folder is a folder"},
	} {
		path := filepath.Join(folder, name)
		if name != "a folder" {
			testkit.Must(t, os.WriteFile(path, test.body, 0o600))
		}
		k := keeper(t, Config{Source: path})
		if err := refresh(k); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		if _, err := os.Stat(k.cfg.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a snapshot was written: %v", name, err)
		}
	}
}

// The Keeper tries again after faults of its source, and Reload has it look at once.
func TestKeeperTriesAgain(t *testing.T) {
	s := newSite(t, pack(t, csv(documents(10)...)))
	s.failed = 3
	k := keeper(t, Config{Source: s.URL})
	b := New(k.cfg.Path)
	testkit.Background(t, k.Run)
	testkit.Until(t, "list", func() bool { b.remap(); return b.Listed(document(t, "4509,000009")) })
	s.change(func() { s.etag, s.body = `"2"`, pack(t, csv(documents(11)...)) })
	k.Reload()
	testkit.Until(t, "new list", func() bool { b.remap(); return b.Listed(document(t, "4509,000010")) })
}

// A snapshot that is corrupt at the start, or damaged or lost while the server runs, is made anew at once,
// not at the next refresh.
func TestSnapshotIsMadeAnew(t *testing.T) {
	s := newSite(t, pack(t, csv(documents(10)...)))
	path := filepath.Join(t.TempDir(), "snapshot")
	save(t, path, csv(documents(10)...), 1)
	testkit.Must(t, os.Truncate(path, 1000))
	k := keeper(t, Config{Source: s.URL, Path: path})
	testkit.Background(t, k.Run)
	whole := func() bool { _, err := Open(k.cfg.Path); return err == nil }
	testkit.Until(t, "snapshot", whole)
	for name, damage := range map[string]func() error{
		"cut": func() error { return os.Truncate(k.cfg.Path, 1000) },
		"changed": func() error {
			file, err := os.OpenFile(k.cfg.Path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteAt([]byte("x"), 100)
			return errors.Join(err, file.Close())
		},
		"gone": func() error { return os.Remove(k.cfg.Path) },
	} {
		testkit.Must(t, damage())
		testkit.Until(t, "new snapshot after "+name, whole)
	}
}

// SIGHUP also finds damage that left no trace in the file's time and size.
func TestReloadReadsTheSnapshotAgain(t *testing.T) {
	s := newSite(t, pack(t, csv(documents(10)...)))
	k := keeper(t, Config{Source: s.URL})
	testkit.Background(t, k.Run)
	testkit.Until(t, "snapshot", func() bool { _, err := Open(k.cfg.Path); return err == nil })
	before, err := os.Stat(k.cfg.Path)
	testkit.Must(t, err)
	file, err := os.OpenFile(k.cfg.Path, os.O_WRONLY, 0)
	testkit.Must(t, err)
	defer file.Close()
	_, err = file.WriteAt([]byte("x"), 100)
	testkit.Must(t, err)
	testkit.Must(t, os.Chtimes(k.cfg.Path, before.ModTime(), before.ModTime()))
	testkit.Until(t, "new snapshot", func() bool {
		k.Reload()
		_, err := Open(k.cfg.Path)
		return err == nil
	})
}
