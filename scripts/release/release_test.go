package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const testVersion = "v0.999.0-rc.1"

// TestRelease makes the release of the last commit twice, in two folders, and looks at what came out. The
// folder RELEASE_OUT, if set, keeps the first.
func TestRelease(t *testing.T) {
	first, second := cmp.Or(os.Getenv("RELEASE_OUT"), t.TempDir()), t.TempDir()
	// What a machine may have set must not show in the files.
	for _, settings := range [][]string{{first, "022", "", "UTC"},
		{second, "077", "-buildvcs=false -tags=other", "Asia/Tokyo"}} {
		t.Setenv("GOFLAGS", settings[2])
		t.Setenv("TZ", settings[3])
		written, ok := tried(t, "sh", "-c", `umask $1; exec ../release.sh -o "$0" $2`,
			settings[0], settings[1], testVersion)
		if !ok {
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
	if written, ok := tried(t, "../release.sh", "-o", first); ok || !strings.Contains(written, "is not empty") {
		t.Errorf("a folder with a release is taken: %s", written)
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
		if file, err := elf.NewFile(bytes.NewReader(text)); err != nil || file.Section(".interp") != nil {
			t.Errorf("the program for %s is not static, %v", arch, err)
		}
		for _, path := range []string{folder, os.Getenv("HOME") + "/", "/go/pkg/mod/"} {
			if len(path) > 1 && bytes.Contains(text, []byte(path)) {
				t.Errorf("the program for %s has the path %s in it", arch, path)
			}
		}
		for _, file := range []string{"_flashsale", "flashsale.1", "flashsale.bash", "flashsale.conf",
			"flashsale.fish", "flashsale.service", "notices.txt"} {
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
