package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file or, with a name that ends in a slash, a folder of an archive.
type entry struct {
	name  string
	mode  int64
	owner int // user and group
	text  []byte
}

// archive is a tar of the entries, in their order, all with one time.
func archive(entries []entry, at time.Time) ([]byte, error) {
	var file bytes.Buffer
	w := tar.NewWriter(&file)
	for _, e := range entries {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.text)), ModTime: at, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.name, "/") {
			head.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return file.Bytes(), err
}

// archived are the files of an archive beside the program.
var archived = []string{"_flashsale", "flashsale.1", "flashsale.bash", "flashsale.conf", "flashsale.fish",
	"flashsale.service", "notices.txt"}

// writeArchives writes one for each architecture, for machines without packages.
func (r *release) writeArchives() error {
	for _, arch := range architectures {
		folder := fmt.Sprintf("flashsale_%s_linux_%s", packageVersion(r.version), arch)
		text, err := os.ReadFile(r.programs[arch].path)
		if err != nil {
			return err
		}
		entries := []entry{{name: folder + "/", mode: 0o755},
			{name: folder + "/flashsale", mode: 0o755, text: text}}
		for _, name := range archived {
			text, err := os.ReadFile(filepath.Join(r.stage, name))
			if err != nil {
				return err
			}
			entries = append(entries, entry{name: folder + "/" + name, mode: 0o644, text: text})
		}
		tar, err := archive(entries, r.time)
		if err != nil {
			return err
		}
		file := packed(tar, gzip.DefaultCompression)
		if err := os.WriteFile(filepath.Join(r.out, folder+".tar.gz"), file, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeChecksums writes SHA256SUMS over all files, for sha256sum -c.
func (r *release) writeChecksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), entry.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}
