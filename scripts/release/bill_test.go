package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
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
			Licenses      []any
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

func versionOfPlot(t *testing.T) string {
	t.Helper()
	head, _, _ := strings.Cut(string(read(t, "../../handlers/web/page/uplot.js")), "\n")
	_, version, _ := strings.Cut(head, "(v")
	return strings.TrimRight(version, ") */")
}
