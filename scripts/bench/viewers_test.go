package main

import (
	"bytes"
	"net/http"
	"regexp"
	"testing"

	"flashsale/scripts/bench/load"
)

func TestViewersAreReported(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	mux := http.NewServeMux()
	mux.Handle("/", s.routes())
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	rep, stderr, code := bench(t, []string{serve(t, mux), serve(t, mux)}, 10, 1000, "-viewers", "7")
	if code != 0 || rep.Viewers == nil || *rep.Viewers != (load.IdleReport{Opened: 7, Held: 7}) {
		t.Errorf("exit %d: %s %+v", code, stderr, rep.Viewers)
	}
}

// A side has viewers of its own, and its report tells what they cost.
func TestCompareViewers(t *testing.T) {
	requireTool(t, "redis-server")
	var stdout, stderr bytes.Buffer
	code := exitCode(run([]string{"compare", "product -workers 1 | VIEWERS=20 product -workers 2",
		"-rounds", "1", "-orders", "200", "-concurrency", "8"}, &stdout, &stderr), &stderr)
	lines := regexp.MustCompile(`(?m)^ *\d+ viewers.*$`).FindAllString(stdout.String(), -1)
	want := regexp.MustCompile(`^  20 viewers: -?\d+\.\d KB of the workers with each, 20 still there after ` +
		`the load \(fewest of all runs\)  VIEWERS=20 product -workers 2$`)
	if code != 0 || len(lines) != 1 || !want.MatchString(lines[0]) {
		t.Errorf("exit %d: %s%s", code, stderr.String(), stdout.String())
	}
}
