package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes a deb and an rpm for each architecture; nfpm.yaml tells what is in them.
func (r *release) writePackages() error {
	if err := r.settleTimes(); err != nil {
		return err
	}
	here := filepath.Join(r.source, "scripts/release")
	text, err := os.ReadFile(filepath.Join(here, "nfpm.yaml"))
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		values := map[string]string{"ARCH": arch, "VERSION": packageVersion(r.version), "STAGE": r.stage,
			"HERE": here, "MAINTAINER": maintainer, "TIME": r.time.Format(time.RFC3339)}
		description := os.Expand(string(text), func(name string) string { return values[name] })
		for _, format := range []string{"deb", "rpm"} {
			if err := r.writePackage(description, format); err != nil {
				return fmt.Errorf("%s for %s: %w", format, arch, err)
			}
		}
	}
	return nil
}

func (r *release) writePackage(description, format string) error {
	config, err := nfpm.Parse(bytes.NewReader([]byte(description)))
	if err != nil {
		return err
	}
	config.MTime = r.time
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := packager.Package(info, &file); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), file.Bytes(), 0o644)
}

// settleTimes gives all files of the stage the time of the release: packages take it from there.
func (r *release) settleTimes() error {
	return filepath.WalkDir(r.stage, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, r.time, r.time)
	})
}
