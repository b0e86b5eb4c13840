package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const testVersion = "v0.999.0-rc.1"

// TestRelease makes the release of the last commit twice, in two folders, and looks at what came out. The
// folder RELEASE_OUT, if set, keeps the first.
func TestRelease(t *testing.T) {
	first, second := cmp.Or(os.Getenv("RELEASE_OUT"), t.TempDir()), t.TempDir()
	for _, out := range []string{first, second} {
		// What a machine may have set must not show in the files.
		t.Setenv("GOFLAGS", map[string]string{first: "", second: "-buildvcs=false -tags=other"}[out])
		t.Setenv("TZ", map[string]string{first: "UTC", second: "Asia/Tokyo"}[out])
		if written, ok := tried(t, "../release.sh", "-o", out, testVersion); !ok {
			t.Fatal(written)
		}
	}
	for _, check := range []struct {
		name string
		run  func(t *testing.T, out string)
	}{
		{"again", func(t *testing.T, out string) { sameFiles(t, out, second) }},
		{"names", checkNames}, {"archives", checkArchives}, {"documents", checkDocuments},
		{"deb", checkDeb}, {"rpm", checkRPM},
		{"image", checkImage}, {"sbom", checkBill},
	} {
		t.Run(check.name, func(t *testing.T) { check.run(t, first) })
	}
	if err := run("../..", first, ""); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder with a release is taken: %v", err)
	}
}

func TestReleaseRefusesWrongVersion(t *testing.T) {
	for _, version := range []string{"1.2.3", "v1.2", "v2.0.0", "v1.2.3 x", "latest"} {
		out, ok := tried(t, "../release.sh", "-o", t.TempDir(), version)
		if ok || !strings.Contains(out, "is no version") {
			t.Errorf("%q: %s", version, out)
		}
	}
}

func sameFiles(t *testing.T, first, second string) {
	names := filesBelow(t, first)
	if again := filesBelow(t, second); !slices.Equal(names, again) {
		t.Fatalf("the second time there are %q, the first time %q", again, names)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, filepath.Join(first, name)), read(t, filepath.Join(second, name))) {
			t.Errorf("%s has other bytes the second time", name)
		}
	}
}

func checkNames(t *testing.T, out string) {
	want := []string{
		"SHA256SUMS", "flashsale-0.999.0~rc.1-1.aarch64.rpm", "flashsale-0.999.0~rc.1-1.x86_64.rpm",
		"flashsale_0.999.0~rc.1_amd64.deb", "flashsale_0.999.0~rc.1_arm64.deb",
		"flashsale_0.999.0~rc.1_linux_amd64.tar.gz", "flashsale_0.999.0~rc.1_linux_arm64.tar.gz",
		"flashsale_0.999.0~rc.1_oci.tar", "flashsale_0.999.0~rc.1_sbom.cdx.json",
	}
	if names := filesBelow(t, out); !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	sums := output(t, nil, "sh", "-c", `cd "$0" && sha256sum --strict -c SHA256SUMS`, out)
	if n := strings.Count(sums, ": OK\n"); n != len(want)-1 {
		t.Errorf("%d checksums are right, want %d\n%s", n, len(want)-1, sums)
	}
}

// The program of an archive knows the release, and nothing of this machine is in it.
func checkArchives(t *testing.T, out string) {
	folder := t.TempDir()
	for arch, format := range map[string]string{"amd64": "\x3e\x00", "arm64": "\xb7\x00"} { // e_machine of ELF
		name := "flashsale_0.999.0~rc.1_linux_" + arch
		output(t, nil, "tar", "-xzf", filepath.Join(out, name+".tar.gz"), "-C", folder)
		text := read(t, filepath.Join(folder, name, "flashsale"))
		if string(text[18:20]) != format {
			t.Errorf("the program for %s is for machine %x", arch, text[18:20])
		}
		for _, path := range []string{folder, os.Getenv("HOME") + "/", "/go/pkg/mod/"} {
			if len(path) > 1 && bytes.Contains(text, []byte(path)) {
				t.Errorf("the program for %s has the path %s in it", arch, path)
			}
		}
		for _, file := range archived {
			if len(read(t, filepath.Join(folder, name, file))) == 0 {
				t.Errorf("%s: %s is empty", name, file)
			}
		}
	}
	commit := strings.TrimSpace(output(t, nil, "git", "rev-parse", "HEAD"))
	program := filepath.Join(folder, "flashsale_0.999.0~rc.1_linux_"+runtime.GOARCH, "flashsale")
	version := output(t, nil, program, "-version")
	if !strings.HasPrefix(version, "flashsale "+testVersion+", commit "+commit+", go") {
		t.Errorf("the program is %q", version)
	}
}

// The program's commands and their flags are in man page and completions.
func checkDocuments(t *testing.T, out string) {
	folder := t.TempDir()
	name := "flashsale_0.999.0~rc.1_linux_" + runtime.GOARCH
	output(t, nil, "tar", "-xzf", filepath.Join(out, name+".tar.gz"), "-C", folder)
	folder = filepath.Join(folder, name)
	page := string(read(t, filepath.Join(folder, "flashsale.1")))
	for _, want := range []string{".SH FLASHSALE AUDIT\n", ".SH FLASHSALE STATUS\n", ".SH FLASHSALE SALE\n",
		".SH FLASHSALE SALE EXPORT\n", "\\fB\\-format\\fR \\fIcsv|jsonl\\fR\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the man page has no %q", want)
		}
	}
	for line, want := range map[string]string{
		"flashsale sale ":                "status open pause close export new",
		"flashsale sale export -format ": "csv jsonl", "flashsale sale open -a": "-at -app-host -app-port",
	} {
		for shell, complete := range completions {
			script := filepath.Join(folder, "flashsale."+shell)
			got, want := complete(t, script, line), strings.Fields(want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s completes %q with %q, want %q", shell, line, got, want)
			}
		}
	}
}

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
		lintian := need(t, "lintian")
		faults, ok := tried(t, lintian, "--allow-root", "--fail-on", "error,warning", deb)
		if !ok || faults != "" {
			t.Errorf("lintian of %s:\n%s", arch, faults)
		}
	}
}

func checkRPM(t *testing.T, out string) {
	for arch, name := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		file := filepath.Join(out, "flashsale-0.999.0~rc.1-1."+name+".rpm")
		checkInstalled(t, output(t, nil, "rpm", "-qlvp", file), "/usr/share/zsh/site-functions/_flashsale")
		facts := output(t, nil, "rpm", "-qp", "--qf", "%{NAME} %{VERSION} %{ARCH} %{BUILDHOST}\n", file)
		if facts != "flashsale 0.999.0~rc.1 "+name+" localhost\n" {
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

func checkImage(t *testing.T, out string) {
	folder := t.TempDir()
	output(t, nil, "tar", "-xf", filepath.Join(out, "flashsale_0.999.0~rc.1_oci.tar"), "-C", folder)
	top, err := layout.ImageIndexFromPath(folder)
	must(t, err)
	must(t, validate.Index(top))
	list, err := top.IndexManifest()
	must(t, err)
	index, err := top.ImageIndex(list.Manifests[0].Digest)
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		must(t, err)
		checkPlatform(t, image)
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("platforms %q, want %q", platforms, want)
	}
}

func checkPlatform(t *testing.T, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	must(t, err)
	c := config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/usr/bin/flashsale"}) ||
		c.Labels["org.opencontainers.image.version"] != testVersion {
		t.Errorf("configuration %+v", c)
	}
	folder := t.TempDir()
	tar := mutate.Extract(image)
	defer tar.Close()
	var files bytes.Buffer
	_, err = files.ReadFrom(tar)
	must(t, err)
	list := output(t, files.Bytes(), "tar", "--numeric-owner", "-tv")
	if !regexp.MustCompile(`(?m)^drwx------ 65532/65532 .* var/lib/flashsale/$`).MatchString(list) {
		t.Errorf("no data folder of the program in\n%s", list)
	}
	output(t, files.Bytes(), "tar", "--no-same-owner", "-x", "-C", folder)
	roots := string(read(t, folder+"/etc/ssl/certs/ca-certificates.crt"))
	if n := strings.Count(roots, "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d root certificates", n)
	}
	output(t, []byte(roots), "openssl", "x509", "-noout", "-subject")
}

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
	for _, m := range modules {
		if !listed[m[1]+" "+m[2]] {
			t.Errorf("the bill does not have %s %s", m[1], m[2])
		}
	}
}

func filesBelow(t *testing.T, folder string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	}))
	return names
}
