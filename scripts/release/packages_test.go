package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// installed are the files of both packages, with their modes.
var installed = map[string]string{
	"/usr/bin/flashsale":                                  "-rwxr-xr-x",
	"/usr/lib/systemd/system/flashsale.service":           "-rw-r--r--",
	"/etc/flashsale/flashsale.conf":                       "-rw-------",
	"/usr/share/man/man1/flashsale.1.gz":                  "-rw-r--r--",
	"/usr/share/bash-completion/completions/flashsale":    "-rw-r--r--",
	"/usr/share/fish/vendor_completions.d/flashsale.fish": "-rw-r--r--",
	"/usr/share/doc/flashsale/changelog.gz":               "-rw-r--r--",
	"/usr/share/doc/flashsale/copyright":                  "-rw-r--r--",
	"/usr/share/doc/flashsale/notices.txt.gz":             "-rw-r--r--",
}

// checkInstalled compares lines like those of ls -l with what is to be installed.
func checkInstalled(t *testing.T, list string, more ...string) {
	t.Helper()
	files := map[string]string{}
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); strings.HasPrefix(line, "-") {
			files[strings.TrimPrefix(words[len(words)-1], ".")] = words[0]
		}
		if strings.Count(line, "root") < 2 { // user and group
			t.Errorf("not owned by root: %s", line)
		}
	}
	for path, mode := range installed {
		if files[path] != mode {
			t.Errorf("%s has mode %q, want %q", path, files[path], mode)
		}
		delete(files, path)
	}
	for _, path := range more {
		if files[path] != "-rw-r--r--" {
			t.Errorf("%s has mode %q", path, files[path])
		}
		delete(files, path)
	}
	if len(files) > 0 {
		t.Errorf("too much: %v", files)
	}
}

func checkDeb(t *testing.T, out string) {
	var debs []string
	for _, arch := range architectures {
		deb := filepath.Join(out, "flashsale_0.999.0~rc.1_"+arch+".deb")
		checkInstalled(t, output(t, nil, "dpkg-deb", "--contents", deb),
			"/usr/share/lintian/overrides/flashsale", "/usr/share/zsh/vendor-completions/_flashsale")
		fields := output(t, nil, "dpkg-deb", "--field", deb)
		for _, want := range []string{"Architecture: " + arch, "Version: 0.999.0~rc.1",
			"Recommends: redis-server"} {
			if !strings.Contains(fields, want+"\n") {
				t.Errorf("%s: no field %q in\n%s", arch, want, fields)
			}
		}
		conffiles := output(t, nil, "dpkg-deb", "--info", deb, "conffiles")
		if conffiles != "/etc/flashsale/flashsale.conf\n" {
			t.Errorf("conffiles %q", conffiles)
		}
		debs = append(debs, deb)
	}
	faults, ok := tried(t, need(t, "lintian"), append(debs, "--allow-root", "--fail-on", "error,warning")...)
	if !ok || faults != "" {
		t.Errorf("lintian:\n%s", faults)
	}
}

func checkRPM(t *testing.T, out string) {
	for arch, name := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		file := filepath.Join(out, "flashsale-0.999.0~rc.1-1."+name+".rpm")
		checkInstalled(t, output(t, nil, "rpm", "-qlvp", file), "/usr/share/zsh/site-functions/_flashsale")
		list := output(t, nil, "rpm", "-qlvp", file)
		for _, folder := range []string{"/etc/flashsale", "/usr/share/doc/flashsale"} { // they go with the rpm
			if !regexp.MustCompile(`(?m)^drwxr-xr-x .* ` + folder + `$`).MatchString(list) {
				t.Errorf("%s does not have the folder %s", arch, folder)
			}
		}
		facts := output(t, nil, "rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{ARCH} %{BUILDHOST} %{LICENSE}\n", file)
		if facts != "flashsale 0.999.0~rc.1 "+name+" localhost LicenseRef-see-the-owner\n" {
			t.Errorf("%s: %s", arch, facts)
		}
		if files := output(t, nil, "rpm", "-qcp", file); files != "/etc/flashsale/flashsale.conf\n" {
			t.Errorf("settings of %s: %q", arch, files)
		}
		scripts := output(t, nil, "rpm", "-qp", "--scripts", file)
		for _, part := range []string{"preset flashsale", "disable --now flashsale", "try-restart flashsale"} {
			if !strings.Contains(scripts, part) {
				t.Errorf("the scripts of %s do not have %q", arch, part)
			}
		}
		output(t, nil, "rpm", "--checksig", "--nosignature", file)
	}
}
