package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	imageUser = 65532 // "nonroot" of many images
	imageData = "var/lib/flashsale/"
)

// writeImage writes an OCI image for all architectures, as one archive of its layout.
func (r *release) writeImage() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := r.image(arch)
		if err != nil {
			return err
		}
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: platform}})
	}
	annotations := map[string]string{"org.opencontainers.image.ref.name": packageVersion(r.version)}
	top := filepath.Join(r.stage, "image")
	path, err := layout.Write(top, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(annotations)); err != nil {
		return err
	}
	entries, err := folderEntries(top)
	if err != nil {
		return err
	}
	tar, err := archive(entries, r.time)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "flashsale_"+packageVersion(r.version)+"_oci.tar"), tar, 0o644)
}

// image has two layers: what hardly changes from release to release, and the program.
func (r *release) image(arch string) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	program, err := r.programEntries(arch)
	if err != nil {
		return nil, err
	}
	for _, entries := range [][]entry{baseEntries(), program} {
		tar, err := archive(entries, r.time)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(tar)), nil
		}, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
			History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "scripts/release.sh"}}); err != nil {
			return nil, err
		}
	}
	return mutate.ConfigFile(image, r.imageConfig(arch, image))
}

func (r *release) imageConfig(arch string, image v1.Image) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made in memory
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/usr/bin/flashsale"},
		Env:          []string{"PATH=/usr/bin", "APP_HOST=0.0.0.0", "DATA=/" + imageData[:len(imageData)-1]},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/" + imageData[:len(imageData)-1]: {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "flashsale",
			"org.opencontainers.image.description": "flash sale server",
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.revision":    r.revision,
			"org.opencontainers.image.created":     r.time.Format(time.RFC3339),
		},
	}
	return config
}

// baseEntries are what a program looks for on a machine: users, certificates for the blocklist's source and
// VK, a folder for temporary files, and the data folder.
func baseEntries() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, text: []byte("root:x:0:\nflashsale:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, text: []byte("root:x:0:0:root:/:/sbin/nologin\n" +
			"flashsale:x:65532:65532:flashsale:/" + imageData + ":/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: certificates()},
		{name: "tmp/", mode: 0o1777},
		{name: "var/", mode: 0o755}, {name: "var/lib/", mode: 0o755},
		{name: imageData, mode: 0o700, owner: imageUser},
	}
}

func (r *release) programEntries(arch string) ([]entry, error) {
	list := []entry{
		{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755},
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/flashsale/", mode: 0o755},
	}
	for _, file := range []struct {
		name, source string
		mode         int64
	}{
		{"usr/bin/flashsale", r.programs[arch].path, 0o755},
		{"usr/share/doc/flashsale/notices.txt", filepath.Join(r.stage, "notices.txt"), 0o644},
		{"usr/share/doc/flashsale/sbom.cdx.json", filepath.Join(r.stage, "sbom.cdx.json"), 0o644},
	} {
		text, err := os.ReadFile(file.source)
		if err != nil {
			return nil, err
		}
		list = append(list, entry{name: file.name, mode: file.mode, text: text})
	}
	return list, nil
}

// certificates are the roots that Mozilla trusts, in PEM. A root with conditions on it is left out, because
// a file of certificates cannot tell them.
func certificates() []byte {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// It cannot fail into memory.
			_ = pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return file.Bytes()
}

// folderEntries are the files of a folder, in the order of their names.
func folderEntries(top string) (list []entry, err error) {
	err = filepath.WalkDir(top, func(path string, found fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if found.IsDir() {
			list = append(list, entry{name: name + "/", mode: 0o755})
			return nil
		}
		text, err := os.ReadFile(path)
		list = append(list, entry{name: name, mode: 0o644, text: text})
		return err
	})
	return list, err
}
