package deploy

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

const (
	unitFile  = "flashsale.service"
	unitStart = "ExecStart=flashsale" // need not be installed where this runs
	anyStart  = "ExecStart=/bin/true"
)

// uncommented is the unit with all settings that it offers in comments.
func uncommented(t *testing.T) string {
	t.Helper()
	pairs := []string{unitStart, anyStart}
	setting := regexp.MustCompile(`(?m)^#[A-Z]\w+=.*$`)
	for _, line := range setting.FindAllString(testkit.ReadFile(t, unitFile), -1) {
		pairs = append(pairs, line+"\n", line[1:]+"\n")
	}
	return changed(t, unitFile, pairs...)
}

func TestSystemdAcceptsUnit(t *testing.T) {
	analyze := testkit.Need(t, "systemd-analyze")
	complaints := func(path string) string {
		out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
		var about []string // verify also looks at the units of the machine that this one names
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, unitFile) {
				about = append(about, line)
			}
		}
		if err != nil && len(about) == 0 {
			t.Fatalf("cannot verify: %v\n%s", err, out)
		}
		return strings.Join(about, "")
	}
	for _, path := range []string{changed(t, unitFile, unitStart, anyStart), uncommented(t)} {
		if about := complaints(path); about != "" {
			t.Error(about)
		}
	}
	// Its verdict on a wrong line is a warning and exit code 0, so the silence above has to be worth something.
	wrong := changed(t, unitFile, unitStart, anyStart, "KillMode=mixed", "KillMode=fixed")
	if about := complaints(wrong); !strings.Contains(about, "kill mode") {
		t.Errorf("an unknown KillMode passed: %q", about)
	}
}

// The exposure that systemd-analyze finds, from 0 (none) to 10.
func TestSystemdFindsUnitSecure(t *testing.T) {
	analyze := testkit.Need(t, "systemd-analyze")
	for path, most := range map[string]float64{unitFile: 1.6, uncommented(t): 1.8} {
		out, err := exec.Command(analyze, "security", "--offline=true", path).CombinedOutput()
		var level float64
		_, line, found := strings.Cut(string(out), "Overall exposure level for ")
		if _, scanning := fmt.Sscanf(line, unitFile+": %f", &level); err != nil || !found || scanning != nil {
			t.Fatalf("%v %v\n%s", err, scanning, out)
		}
		if level > most {
			t.Errorf("exposure %v, want at most %v", level, most)
		}
	}
}

func TestUnitSettings(t *testing.T) {
	for _, text := range []string{testkit.ReadFile(t, unitFile), testkit.ReadFile(t, uncommented(t))} {
		files := settings(text, "EnvironmentFile")
		if len(files) != 1 || files[0] != "/etc/flashsale/flashsale.conf" {
			t.Errorf("environment files %q: it must be required, without a leading -", files)
		}
	}
	all := testkit.ReadFile(t, uncommented(t))
	for name, want := range map[string]string{
		"LoadCredential": "tls.crt:/etc/flashsale/tls.crt tls.key:/etc/flashsale/tls.key " +
			"users.csv:/etc/flashsale/users.csv foods.csv:/etc/flashsale/foods.csv",
		"Environment":           "TLS_CERT=%d/tls.crt TLS_KEY=%d/tls.key CATALOG_DIR=%d",
		"AmbientCapabilities":   "CAP_NET_BIND_SERVICE",
		"CapabilityBoundingSet": " CAP_NET_BIND_SERVICE", // without it there too the service would not get it
	} {
		if got := strings.Join(settings(all, name), " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// settings are the values that a unit gives to a name, in order.
func settings(unit, name string) (values []string) {
	for line := range strings.Lines(unit) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+"="); found {
			values = append(values, value)
		}
	}
	return values
}
