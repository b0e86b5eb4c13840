package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The bill and the notices have every module that the go command finds in the program.
func checkBill(t *testing.T, out string) {
	var bill struct {
		SpecVersion string `json:"specVersion"`
		Components  []struct {
			Name, Version string
			PackageURL    string `json:"purl"`
			Licenses      []struct{ License struct{ ID string } }
		}
	}
	must(t, json.Unmarshal(read(t, out+"/flashsale_0.999.0~rc.1_sbom.cdx.json"), &bill))
	if bill.SpecVersion != "1.6" {
		t.Errorf("CycloneDX %q", bill.SpecVersion)
	}
	folder := t.TempDir()
	output(t, nil, "dpkg-deb", "-x", out+"/flashsale_0.999.0~rc.1_amd64.deb", folder)
	packed, err := os.Open(folder + "/usr/share/doc/flashsale/notices.txt.gz")
	must(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	must(t, err)
	var notices bytes.Buffer
	_, err = notices.ReadFrom(unpacked)
	must(t, err)
	listed := map[string]bool{}
	for _, c := range bill.Components {
		listed[c.Name+" "+c.Version] = true
		if len(c.Licenses) == 0 {
			t.Errorf("%s has no known licence", c.Name)
		}
		if !strings.Contains(notices.String(), c.Name+" "+c.Version+": ") {
			t.Errorf("the notices do not have %s", c.Name)
		}
	}
	checkNotices(t, notices.String())
	for _, c := range bill.Components {
		var ids []string
		for _, l := range c.Licenses {
			ids = append(ids, l.License.ID)
		}
		if strings.Contains(c.Name, "/miniredis/") && !slices.Contains(ids, "BSL-1.0") { // fpconv
			t.Errorf("the bill has %s under %q", c.Name, ids)
		}
	}
	facts := output(t, nil, "go", "version", "-m", folder+"/usr/bin/flashsale")
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(facts, -1)
	if len(modules) < 10 || !listed["std "+strings.TrimPrefix(runtime.Version(), "go")] {
		t.Errorf("%d modules in the program, the bill has %v", len(modules), listed)
	}
	if !listed["uplot "+versionOfPlot(t)] { // in the page, not in a Go module
		t.Errorf("the bill does not have uPlot: %v", listed)
	}
	for _, m := range modules {
		if !listed[m[1]+" "+m[2]] {
			t.Errorf("the bill does not have %s %s", m[1], m[2])
		}
	}
}

// checkNotices looks for packages that their modules took from others. Each has a licence of its own.
func checkNotices(t *testing.T, notices string) {
	t.Helper()
	for text, pattern := range map[string]string{
		"Copyright (c) 2017 Axiom Inc.": `/miniredis/v2 v\S+: hyperloglog/LICENSE\n`,
		"Michael McLoughlin":            `/miniredis/v2 v\S+: geohash/LICENSE\n`,
		"Boost Software License":        `/miniredis/v2 v\S+: fpconv/LICENSE.txt\n`,
		"The Go Authors": `/prometheus/client_golang v\S+: ` +
			`internal/github.com/golang/gddo/LICENSE\n`,
		"Caleb Spare": `/klauspost/compress v\S+: zstd/internal/xxhash/LICENSE.txt\n`,
	} {
		at := regexp.MustCompile(pattern).FindStringIndex(notices)
		if at == nil {
			t.Errorf("the notices have nothing like %s", pattern)
			continue
		}
		rule := strings.Repeat("=", 80) + "\n"
		if one, _, _ := strings.Cut(notices[at[1]+len(rule):], rule); !strings.Contains(one, text) {
			t.Errorf("%s is not the licence of %s:\n%s", pattern, text, one)
		}
	}
}

// What is above a package counts, what is beside it does not. A module without a licence is refused.
func TestLicences(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"LICENSE", "taken/COPYING", "taken/sub/deep/NOTICE.md", "taken/sub/deep/x.go",
		"beside/LICENSE"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte("of "+name), 0o644))
	}
	list, err := licences(root, root, root+"/taken/sub/deep", root+"/taken")
	must(t, err)
	want := []licence{{"LICENSE", []byte("of LICENSE")}, {"taken/COPYING", []byte("of taken/COPYING")},
		{"taken/sub/deep/NOTICE.md", []byte("of taken/sub/deep/NOTICE.md")}}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("licences %s, want %s", list, want)
	}
	if list, err := licences(t.TempDir()); err == nil {
		t.Errorf("a module without a licence is taken: %s", list)
	}
}

func versionOfPlot(t *testing.T) string {
	t.Helper()
	head, _, _ := strings.Cut(string(read(t, "../../handlers/web/page/uplot.js")), "\n")
	_, version, _ := strings.Cut(head, "(v")
	return strings.TrimRight(version, ") */")
}
