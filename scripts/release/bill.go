package main

import (
	"bytes"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill is the software bill of materials (SBOM) in CycloneDX 1.6: the modules that are in the programs, as
// the Go toolchain has noted them there.
func (r *release) bill() ([]byte, error) {
	server := cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication,
		BOMRef: "flashsale", Name: "flashsale", Version: r.version,
		Properties: &[]cyclonedx.Property{{Name: "vcs.revision", Value: r.revision}}}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &server}
	var components []cyclonedx.Component
	uses := []string{}
	for _, m := range r.modules {
		c := m.component()
		components = append(components, c)
		uses = append(uses, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: server.BOMRef, Dependencies: &uses}}
	var file bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&file, cyclonedx.BOMFileFormatJSON).SetPretty(true).
		EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return file.Bytes(), err
}

func (m module) component() cyclonedx.Component {
	c := cyclonedx.Component{BOMRef: m.url, PackageURL: m.url, Type: cyclonedx.ComponentTypeLibrary,
		Name: m.path, Version: m.version, Scope: cyclonedx.ScopeRequired}
	var licenses cyclonedx.Licenses
	for _, id := range m.identifiers() {
		licenses = append(licenses, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	if licenses != nil {
		c.Licenses = &licenses
	}
	if m.sum != "" { // as in go.sum
		c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: m.sum}}
	}
	return c
}
