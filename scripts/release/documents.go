package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// maintainer is whom packages name.
const maintainer = "Flashsale maintainers <flashsale@packages.sale.example>"

// writeDocuments writes all that goes with the program into the stage, where nfpm.yaml, the archives and the
// image take it from.
func (r *release) writeDocuments() error {
	page := manual(r.commands, r.version, r.time)
	notices := r.notices()
	changelog, err := r.changelog()
	if err != nil {
		return err
	}
	bill, err := r.bill()
	if err != nil {
		return err
	}
	unit, err := os.ReadFile(filepath.Join(r.source, "scripts/deploy/flashsale.service"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"flashsale.1": page, "flashsale.1.gz": packed(page, gzip.BestCompression),
		"notices.txt": notices, "notices.txt.gz": packed(notices, gzip.BestCompression),
		"changelog": changelog, "changelog.gz": packed(changelog, gzip.BestCompression),
		"flashsale.bash": bashCompletion(r.commands), "_flashsale": zshCompletion(r.commands),
		"flashsale.fish": fishCompletion(r.commands),
		"flashsale.conf": settings(r.commands[0].groups), "flashsale.service": unit,
		"sbom.cdx.json": bill,
	} {
		if err := os.WriteFile(filepath.Join(r.stage, name), text, 0o644); err != nil {
			return err
		}
	}
	name := "flashsale_" + packageVersion(r.version) + "_sbom.cdx.json"
	return os.WriteFile(filepath.Join(r.out, name), bill, 0o644)
}

// packed is a text in gzip, without name and time. lintian wants the best compression of documents; of a
// program it takes three times as long as the default, for a few hundredths of the size.
func packed(text []byte, level int) []byte {
	var file bytes.Buffer
	w, _ := gzip.NewWriterLevel(&file, level) // fails on a wrong level only
	w.Write(text)                             // neither fails into memory
	w.Close()
	return file.Bytes()
}

// changelog has Debian's form: the subjects of all commits since the last release.
func (r *release) changelog() ([]byte, error) {
	commits := "HEAD"
	// Without an older tag this fails, and the list begins with the first commit.
	if last, err := r.git("describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		commits = strings.TrimSpace(last) + ".."
	}
	subjects, err := r.git("log", "--no-merges", "--format=%s", commits)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "flashsale (%s) stable; urgency=medium\n\n", packageVersion(r.version))
	for subject := range strings.Lines("Release of commit " + r.revision + ".\n" + subjects) {
		mark := "*"
		for line := range wrapped(subject, 74) {
			fmt.Fprintf(&text, "  %s %s\n", mark, line)
			mark = " "
		}
	}
	fmt.Fprintf(&text, "\n -- %s  %s\n", maintainer, r.time.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	return text.Bytes(), nil
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.source}, args...)...).Output()
	return string(out), err
}
