package blocklist

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// ask sends a command to Redis.
func ask[T any](t *testing.T, server *redistest.Server, args ...string) (reply T) {
	t.Helper()
	cfg := redisOf(server)
	l, err := pipeline.Dial(t.Context(), *cfg)
	testkit.Must(t, err)
	defer l.Close()
	testkit.Must(t, l.Do(pipeline.Command(&reply, args...), cfg.Timeout))
	return reply
}

func redisOf(server *redistest.Server) *pipeline.Config {
	redis := roomtest.Of(server)
	return &redis
}

// piecesThatStay counts the pieces of the newest snapshot. All others must expire.
func piecesThatStay(t *testing.T, server *redistest.Server) (pieces int) {
	t.Helper()
	there := ask[map[string]string](t, server, "HGETALL", newestKey)
	for _, key := range ask[[]string](t, server, "KEYS", "*") {
		expires := ask[int](t, server, "TTL", key) >= 0
		newest := strings.HasPrefix(key, piecePrefix+there["generation"]+"_")
		switch {
		case newest && !expires:
			pieces++
		case key != newestKey && (newest || !expires):
			t.Errorf("key %s expires: %v", key, expires)
		}
	}
	if strconv.Itoa(pieces) != there["pieces"] {
		t.Errorf("%d pieces, want %s", pieces, there["pieces"])
	}
	return pieces
}

// listFile writes a list of some documents, packed, and returns its path.
func listFile(t *testing.T, rows ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list.bz2")
	testkit.Must(t, os.WriteFile(path, pack(t, csv(rows...)), 0o600))
	return path
}

// spread returns rows that fill some pieces.
func spread() (rows []string) {
	for i := range 12_000 {
		rows = append(rows, fmt.Sprintf("%04d,%06d", i%10_000, i*7919%1_000_000))
	}
	return rows
}

// A server takes the list that another one has imported, without asking the source, and puts it back where
// Redis has lost it.
func TestServersShareTheList(t *testing.T) {
	server := redistest.Start(t)
	redis, rows := redisOf(server), spread()
	s := newSite(t, pack(t, csv(rows...)))
	first := keeper(t, Config{Source: s.URL, Redis: redis})
	testkit.Must(t, refresh(first))
	s.calls()
	second := keeper(t, Config{Source: s.URL, Redis: redis})
	testkit.Must(t, refresh(second))
	if calls := s.calls(); calls != "HEAD" || second.info != first.info {
		t.Errorf("the second server asked %s and has %+v, want %+v", calls, second.info, first.info)
	}
	s.change(func() { s.etag, s.body = `"2"`, pack(t, csv(rows[:11_000]...)) })
	testkit.Must(t, refresh(second))
	testkit.Must(t, first.exchange(t.Context()))
	if first.info != second.info || first.info.Stored != 11_000 {
		t.Errorf("the first server has %+v, want %+v", first.info, second.info)
	}
	if pieces := piecesThatStay(t, server); pieces < 2 {
		t.Errorf("%d pieces", pieces)
	}
	server.Flush(t)
	testkit.Must(t, first.exchange(t.Context()))
	third := keeper(t, Config{Source: s.URL, Redis: redis})
	testkit.Must(t, third.exchange(t.Context()))
	if third.info != first.info {
		t.Errorf("after the loss: %+v", third.info)
	}
}

// Servers that publish at the same time leave no piece behind that stays for ever, besides those of one
// list.
func TestPublishersAtOnceLeaveNothing(t *testing.T) {
	server := redistest.Start(t)
	base := keeper(t, Config{Source: listFile(t, spread()...), Redis: redisOf(server)})
	testkit.Must(t, refresh(base))
	var all sync.WaitGroup
	for range 4 {
		k := keeper(t, Config{Source: listFile(t, spread()...), Redis: redisOf(server)})
		// Each has seen the list of base as the newest one when it publishes.
		testkit.Must(t, k.take(k.read(t.Context(), base.info)))
		all.Go(func() {
			if err := k.exchange(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	piecesThatStay(t, server)
}

// A snapshot in Redis that lost a piece, or has a damaged one, is put right: by a server that has the list
// too, by one that has an older list, and by one that has to import it.
func TestDamagedSnapshotInRedisIsPutRight(t *testing.T) {
	for name, damage := range map[string]func(key string) []string{
		"lost":    func(key string) []string { return []string{"DEL", key} },
		"damaged": func(key string) []string { return []string{"SETRANGE", key, "70", "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			cfg := Config{Source: listFile(t, spread()...), Redis: redisOf(server)}
			old, first := keeper(t, cfg), keeper(t, cfg)
			testkit.Must(t, refresh(old))
			first.source = fileSource(listFile(t, spread()[:11_000]...))
			testkit.Must(t, refresh(first))
			generation := ask[string](t, server, "HGET", newestKey, "generation")
			ask[int](t, server, damage(pieceKey(generation, 1))...)
			testkit.Wants(t, "error", old.exchange(t.Context()), errNotWhole)
			testkit.Must(t, old.exchange(t.Context()))
			testkit.Must(t, first.exchange(t.Context()))
			piecesThatStay(t, server)
			testkit.Must(t, old.exchange(t.Context()))
			if old.info != first.info {
				t.Errorf("the old one has %+v, want %+v", old.info, first.info)
			}
			ask[int](t, server, damage(pieceKey(generation, 1))...)
			third := keeper(t, cfg) // all others are gone
			testkit.Must(t, refresh(third))
			fourth := keeper(t, cfg)
			testkit.Must(t, fourth.exchange(t.Context()))
			if third.info.Stored != 12_000 || fourth.info != third.info {
				t.Errorf("%+v and %+v", third.info, fourth.info)
			}
		})
	}
}

// A server that has the list sees that Redis has lost a piece of it.
func TestLostPieceIsPutBack(t *testing.T) {
	server := redistest.Start(t)
	k := keeper(t, Config{Source: listFile(t, spread()...), Redis: redisOf(server)})
	testkit.Must(t, refresh(k))
	ask[int](t, server, "DEL", pieceKey(ask[string](t, server, "HGET", newestKey, "generation"), 1))
	testkit.Must(t, k.exchange(t.Context()))
	piecesThatStay(t, server)
}

// A snapshot that is as it was published, but cannot be read, is fetched only once.
func TestUnreadableSnapshotIsFetchedOnce(t *testing.T) {
	server := redistest.Start(t)
	k := keeper(t, Config{Redis: redisOf(server)})
	path := filepath.Join(t.TempDir(), "snapshot")
	testkit.Must(t, os.WriteFile(path, []byte("a later version"), 0o600))
	l, err := pipeline.Dial(t.Context(), *redisOf(server))
	testkit.Must(t, err)
	defer l.Close()
	testkit.Must(t, k.share.publish(t.Context(), l, path, Info{Imported: 7}))
	testkit.Wants(t, "error", k.exchange(t.Context()), ErrCorrupt)
	testkit.Must(t, k.exchange(t.Context()))
	piecesThatStay(t, server)
}

// The list that the source sent later counts, also where its import ended earlier.
func TestEarlierAnswerDoesNotReplaceLater(t *testing.T) {
	server := redistest.Start(t)
	cfg := Config{Source: listFile(t, documents(1000)...), Redis: redisOf(server)}
	slow, quick := keeper(t, cfg), keeper(t, cfg)
	list, err := slow.source.open(t.Context(), Version{})
	testkit.Must(t, err)
	defer list.Close()
	testkit.Until(t, "later time", func() bool { return time.Now().UnixMilli() > list.answered.UnixMilli() })
	quick.source = fileSource(listFile(t, documents(1100)...))
	testkit.Must(t, refresh(quick))
	testkit.Must(t, slow.take(slow.load(t.Context(), list, Info{})))
	testkit.Must(t, slow.exchange(t.Context()))
	testkit.Must(t, quick.exchange(t.Context()))
	if slow.info != quick.info || quick.info.Stored != 1100 {
		t.Errorf("%+v and %+v, want the list of 1100", slow.info, quick.info)
	}
}

// A server with an import under way takes the list of another one, gives the import up, and looks at its
// source again.
func TestListOfAnotherServerEndsAnImport(t *testing.T) {
	server := redistest.Start(t)
	body := pack(t, csv(documents(20_000)...))
	began, ended := make(chan struct{}, 100), make(chan struct{}, 100)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(source.Close)
	k := keeper(t, Config{Source: source.URL, Redis: redisOf(server)})
	testkit.Background(t, k.Run)
	<-began
	k.Reload() // it waits for the end of the import
	other := keeper(t, Config{Source: listFile(t, documents(1000)...), Redis: redisOf(server)})
	if len(k.asked) != 1 {
		t.Error("a second import was begun beside the first")
	}
	testkit.Must(t, refresh(other))
	b := New(k.cfg.Path)
	testkit.Until(t, "list of the other server", func() bool { b.remap(); return b.List() != nil })
	<-ended
	<-began
}
