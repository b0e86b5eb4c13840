package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of a load needs nothing else, and a browser draws its two charts. The report names the whole
// command and what the server answers at /readyz.
func TestPageOfLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	s := newShop(builtIn(t, 10, 1000), losesOrder)
	s.users = 201
	address := s.open(t)
	t.Setenv("DB_PASS", "hidden")
	t.Setenv("TIMEOUT", "5s")
	rep, stderr, code := bench(t, []string{address}, 10, 1000, "-html", path)
	text, err := os.ReadFile(path)
	if code != exitAudit || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	want := "bench -addr=" + address + " -concurrency=8 -db-pass=(set) -foods=10 -html=" + path +
		" -json=true -orders=100 -root-password=(set) -seed=7 -timeout=5s -users=201"
	if rep.Command != want {
		t.Errorf("got  %s\nwant %s", rep.Command, want)
	}
	if ready := rep.Readiness[address]; len(ready) != 2 || ready["sale"] != "shop" || ready["users"] != 201.0 {
		t.Errorf("readiness %v", rep.Readiness)
	}
	page := string(text)
	if outside := regexp.MustCompile(` (src|href)=|url\(|@import|<link`).FindString(page); outside != "" {
		t.Errorf("the page needs %q", outside)
	}
	for _, want := range []string{"Audit: audit failed: 1 of 10 checks found violations",
		"<code>bench</code> <code>-addr=", "Latency of orders, by second", "&#34; of user ", "is not there"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	requireTool(t, "chromium")
	browser := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=2000", "file://"+path)
	drawn, err := browser.Output()
	if n := strings.Count(string(drawn), "<canvas"); err != nil || n != 2 {
		t.Errorf("%d charts drawn, %v", n, err)
	}
}
