package app

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/supervise"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
	"flashsale/redisx/turnover"
)

// supervised returns a supervisor of a sale with one worker that does nothing, and the number of workers
// that were started so far.
func supervised(t *testing.T, cfg *config.Config) (s *supervisor, starts func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "starts")
	t.Setenv(startsFile, file)
	s = openedSale(t, cfg)
	var err error
	if s.figures, err = figures.New(1); err != nil {
		t.Fatal(err)
	}
	s.serving().figures = s.figures.File()
	s.processes, err = supervise.New(supervise.Config{Roles: []supervise.Role{{Name: saleRole, Count: 1}},
		Drain: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	handover, err := s.serving().pack()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.processes.Run(ctx, handover) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-s.processes.Ready()
	return s, func() int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// nextSale opens a sale of the catalogue in the place of the one that Redis holds.
func (s *supervisor) nextSale(t *testing.T, catalog string, stock ...int64) *redisx.Marker {
	t.Helper()
	before, err := redisx.ReadMarker(t.Context(), s.store.redis)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := turnover.OpenNext(t.Context(), s.store.redis, turnover.Next{Before: before.Sale,
		Catalog: catalog, Stock: stock, Force: true}); err != nil {
		t.Fatal(err)
	}
	opened, err := redisx.ReadMarker(t.Context(), s.store.redis)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// SIGHUP while a next sale waits reads the catalogue once and replaces the workers once.
func TestReloadWithWaitingSale(t *testing.T) {
	log := testkit.CaptureLog(t)
	s, starts := supervised(t, settings(t, "-redis", redistest.Memory(t), "-foods", "2", "-users", "3"))
	first := s.serving()
	opened := s.nextSale(t, firstStock(first.catalog).Catalog, 1000, 1000)
	s.reload(t.Context())
	if sale := s.serving().Sale; sale != opened.Sale {
		t.Errorf("sale %s is served, want %s", sale, opened.Sale)
	}
	if n := starts(); n != 2 {
		t.Errorf("%d workers were started, want 2: the first, and its successor", n)
	}
	for line, want := range map[string]int{
		`"this server has taken over the next sale" sale=` + opened.Sale + " before=" + first.Sale: 1,
		"all workers are replaced": 1, "the users are read again": 0, "level=ERROR": 0,
	} {
		if n := log.Count(line); n != want {
			t.Errorf("%s is logged %d times, want %d:\n%s", line, n, want, log)
		}
	}
	s.reload(t.Context())
	if starts() != 3 || log.Count("the users are read again") != 1 {
		t.Errorf("%d workers were started, log %s", starts(), log)
	}
}

// A server that had no part in a sale in between names the sale that it has served itself.
func TestTakeOverNamesTheSaleBefore(t *testing.T) {
	log := testkit.CaptureLog(t)
	s, _ := supervised(t, settings(t, "-redis", redistest.Memory(t), "-foods", "2", "-users", "3"))
	first := s.serving()
	skipped := s.nextSale(t, "other foods", 1)
	s.takeOver(t.Context(), skipped)
	if s.serving() != first || log.Count("cannot take over the next sale") != 1 {
		t.Errorf("sale %s is served; log %s", s.serving().Sale, log)
	}
	opened := s.nextSale(t, firstStock(first.catalog).Catalog, 1000, 1000)
	s.takeOver(t.Context(), opened)
	want := `"this server has taken over the next sale" sale=` + opened.Sale + " before=" + first.Sale + "\n"
	if log.Count(want) != 1 {
		t.Errorf("the log lacks %s:\n%s", want, log)
	}
}

// Where the workers cannot be replaced, SIGHUP changes nothing at all.
func TestReloadThatFailsKeepsAll(t *testing.T) {
	log := testkit.CaptureLog(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	fill := func(users, rule, token string, end time.Time) {
		t.Helper()
		write(t, file("users.csv"), "id,name,password\n1,root,r\n"+users)
		write(t, file("foods.csv"), "id,stock,price\n1,10,3\n")
		write(t, file("rules"), rule+"\n")
		write(t, file("groups"), "group_id,confirmation,secret,token\n1,c,s,"+token+"\n")
		certtest.Write(t, dir, end)
	}
	fill("2,ann,a\n", "order by user 1/m", "old", time.Now().Add(time.Hour))
	certificate := certtest.Write(t, dir, time.Now().Add(time.Hour))
	cfg := settings(t, "-redis", redistest.Memory(t), "-catalog-dir", dir, "-tls-cert", certificate.ChainFile,
		"-tls-key", certificate.KeyFile, "-limits-file", file("rules"), "-repeats", "-vk-groups", file("groups"))
	s, starts := supervised(t, cfg)
	told := 0
	s.parts = []part{{reloaded: func(*opening) { told++ }}}
	before, copied := s.serving(), s.serving().copy()

	fill("2,ann,a\n3,bob,b\n", "order by user 2/m", "new", time.Now().Add(48*time.Hour))
	ready := s.processes
	s.processes = ended(t)
	s.reload(t.Context())
	if s.serving() != before || !reflect.DeepEqual(before, copied) || told != 0 || starts() != 1 {
		t.Errorf("a reload that failed has changed what is served, told %d parts, started %d workers", told,
			starts())
	}
	for line, want := range map[string]int{`"cannot replace the workers; the old values stay" users=3`: 1,
		"the users are read again": 0, "all workers are replaced": 0, "other ones than on the server": 0} {
		if n := log.Count(line); n != want {
			t.Errorf("%s is logged %d times, want %d:\n%s", line, n, want, log)
		}
	}
	s.processes = ready
	s.reload(t.Context())
	after := s.serving()
	rules, groups := after.rooms["limits"].(limitRules), after.rooms["repeats"].([]config.VKGroup)
	longer := after.Certificate.Expires().Sub(before.Certificate.Expires())
	sameRules := reflect.DeepEqual(rules, before.rooms["limits"])
	if after.catalog.Users() != 3 || longer < 40*time.Hour || sameRules || groups[0].Token != "new" ||
		told != 1 || starts() != 2 {
		t.Errorf("%d users, %v, %+v, %d parts were told, %d workers; log %s", after.catalog.Users(), rules,
			groups, told, starts(), log)
	}
}

// ended returns processes that cannot be replaced.
func ended(t *testing.T) *supervise.Supervisor {
	t.Helper()
	s, err := supervise.New(supervise.Config{Roles: []supervise.Role{{Name: saleRole, Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), nil); err == nil {
		t.Fatal("processes ran without a handover")
	}
	return s
}
