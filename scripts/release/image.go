package main

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeImage writes the layout of an OCI image: each architecture has the base layer and a layer of its own.
func writeImage(folder, version, revision, base string, layers []string, at time.Time) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, layer := range layers {
		arch, path, _ := strings.Cut(layer, "=")
		image, err := makeImage(arch, version, revision, at, base, path)
		if err != nil {
			return fmt.Errorf("cannot make the image for %s: %w", arch, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: platform}})
	}
	path, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": strings.Replace(strings.TrimPrefix(version, "v"), "-", "~", 1)}))
}

func makeImage(arch, version, revision string, at time.Time, layers ...string) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, path := range layers {
		layer, err := tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
			History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "scripts/release.sh"}}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: at}
	config.Config = v1.Config{
		User:         "65532:65532", // "nonroot" of many images
		Entrypoint:   []string{"/usr/bin/flashsale"},
		Env:          []string{"PATH=/usr/bin", "APP_HOST=0.0.0.0", "DATA=/var/lib/flashsale"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/var/lib/flashsale": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "flashsale",
			"org.opencontainers.image.description": "flash sale server",
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.revision":    revision,
			"org.opencontainers.image.created":     at.Format(time.RFC3339),
		},
	}
	return mutate.ConfigFile(image, config)
}
