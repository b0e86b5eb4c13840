package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

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
	if !regexp.MustCompile(`(?m)^drwx------ 65532/65532 .* var/lib/flashsale$`).MatchString(list) {
		t.Errorf("no data folder of the program in\n%s", list)
	}
	output(t, files.Bytes(), "tar", "--no-same-owner", "-x", "-C", folder)
	roots := string(read(t, folder+"/etc/ssl/certs/ca-certificates.crt"))
	if n := strings.Count(roots, "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d root certificates", n)
	}
	output(t, []byte(roots), "openssl", "x509", "-noout", "-subject")
}
