package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a folder in which the scripts of the deb find what they need of a machine with systemd.
type machine struct {
	*testing.T
	root string
}

// newMachine makes one on which the service runs, or does not.
func newMachine(t *testing.T, running bool) *machine {
	t.Helper()
	m := &machine{t, t.TempDir()}
	for _, folder := range []string{"bin", "run/systemd/system", "var/lib/flashsale"} {
		if err := os.MkdirAll(filepath.Join(m.root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	state := "exit 3"
	if running {
		state = "exit 0"
	}
	m.command("systemctl", `case "$*" in *is-active*) `+state+`;; esac`)
	m.command("deb-systemd-invoke", `echo "$*" >>`+m.root+`/invoked`)
	m.command("deb-systemd-helper", ``)
	return m
}

func (m *machine) command(name, text string) {
	m.Helper()
	path := filepath.Join(m.root, "bin", name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		m.Fatal(err)
	}
}

// run runs a script of the deb as dpkg does, and reports whether it succeeds.
func (m *machine) run(script string, args ...string) bool {
	m.Helper()
	text := string(read(m.T, "deb/"+script))
	for _, folder := range []string{"/run/", "/var/lib/"} {
		text = strings.ReplaceAll(text, " "+folder, " "+m.root+folder)
	}
	c := exec.Command("sh", append([]string{"-c", text, script}, args...)...)
	c.Env = []string{"PATH=" + m.root + "/bin:/usr/bin:/bin"}
	said, err := c.CombinedOutput()
	m.Logf("%s %s: %s%v", script, args, said, err)
	return err == nil
}

// has reports whether a file is there.
func (m *machine) has(path string) bool {
	_, err := os.Stat(filepath.Join(m.root, path))
	return err == nil
}

// invoked is what was asked of systemd.
func (m *machine) invoked() string {
	text, _ := os.ReadFile(filepath.Join(m.root, "invoked")) // no file: nothing was asked
	return string(text)
}

// An upgrade restarts a service that runs, and does not start one that is stopped. What was installed anew,
// or again, starts.
func TestDebUpgrade(t *testing.T) {
	for _, test := range []struct {
		name             string
		running, upgrade bool
		before, want     string
	}{
		{"first", false, false, "", "start flashsale.service\n"},
		{"again after a removal", false, false, "1.0", "restart flashsale.service\n"},
		{"upgrade", true, true, "1.0", "restart flashsale.service\n"},
		{"upgrade of a stopped service", false, true, "1.0", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t, test.running)
			if test.upgrade && !m.run("prerm", "upgrade", "1.1") || !m.run("postinst", "configure", test.before) {
				t.Error("a script fails")
			}
			if got := m.invoked(); got != test.want {
				t.Errorf("systemd is asked for %q, want %q", got, test.want)
			}
			if m.has("run/flashsale.stopped") {
				t.Error("the note stays")
			}
		})
	}
}

// The orders are never taken away under a running service.
func TestDebPurge(t *testing.T) {
	for _, running := range []bool{true, false} {
		m := newMachine(t, running)
		if ok := m.run("postrm", "purge"); ok == running || m.has("var/lib/flashsale") != running {
			t.Errorf("running %t: purge succeeds %t, data there %t", running, ok, m.has("var/lib/flashsale"))
		}
	}
}
