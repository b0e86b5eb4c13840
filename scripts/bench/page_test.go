package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPageOfLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	s := newShop(builtIn(t, 10, 1000), losesOrder)
	rep, _, code := bench(t, []string{s.open(t)}, 10, 1000, "-html", path)
	text, err := os.ReadFile(path)
	if code != exitAudit || err != nil {
		t.Fatalf("exit %d, %v", code, err)
	}
	page := string(text)
	counts := map[string]int{"<rect": len(rep.Load.PlacedBySecond), "<polyline": 18, "<svg": 12,
		"</svg>": 12, "NaN": 0, "Inf": 0, "ZgotmplZ": 0}
	for part, want := range counts {
		if got := strings.Count(page, part); got != want {
			t.Errorf("%d of %q, want %d", got, part, want)
		}
	}
	outside := regexp.MustCompile(`(src|href)=|url\(|@import|<script|<link|https?://`).FindString(page)
	if outside != "" {
		t.Errorf("the page needs %q", outside)
	}
	for _, want := range []string{"Audit: audit failed: 1 of 10 checks found violations",
		"<code>bench</code> <code>-addr=", "Latency of orders, by second", "&#34; of user ", "is not there",
		"prefers-color-scheme"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestPageThatCannotBeWritten(t *testing.T) {
	_, stderr, code := bench(t, []string{newShop(builtIn(t, 10, 1000), honest).open(t)}, 10, 1000, "-html",
		filepath.Join(t.TempDir(), "none", "x.html"))
	if code != exitUsage || !strings.Contains(stderr, "cannot write -html") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
