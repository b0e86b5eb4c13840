package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// module is a part of the program: a Go module, the standard library, or a library copied into the
// repository.
type module struct {
	path, version, sum string
	url                string // of the package, as package-url has them
	texts              []licence
}

// licence is a text that must accompany the program.
type licence struct {
	name string // of its file, below the module's folder
	text []byte
}

var licenceName = regexp.MustCompile(`(?i)^(?:(.+)-)?(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// findModules finds the modules of the programs for all architectures: the standard library, then Go modules
// by path, then the libraries of the server's page.
func findModules(stage, source string) ([]module, error) {
	found := map[string]module{}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	for _, arch := range architectures {
		info, err := buildinfo.ReadFile(filepath.Join(stage, arch, "flashsale"))
		if err != nil {
			return nil, err
		}
		folders, err := linked(source, arch)
		if err != nil {
			return nil, err
		}
		folders["std"] = []string{strings.TrimSpace(string(root))}
		std := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
		for _, d := range append(info.Deps, std) {
			m := module{path: d.Path, version: d.Version, sum: d.Sum,
				url: "pkg:golang/" + d.Path + "@" + strings.ReplaceAll(d.Version, "+", "%2B")}
			if m.texts, err = licences(folders[d.Path][0], folders[d.Path][1:]...); err != nil {
				return nil, err
			}
			found[d.Path] = m
		}
	}
	list := []module{found["std"]}
	delete(found, "std")
	for _, path := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[path])
	}
	copies, err := copied(filepath.Join(source, "handlers/web/page"))
	return append(list, copies...), err
}

// linked finds the folders of the packages in the program for an architecture, by the path of the module,
// with the module's own folder.
func linked(source, arch string) (map[string][]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.Module.Path}}\t{{.Module.Dir}}\t{{.Dir}}{{end}}", ".")
	cmd.Dir, cmd.Env, cmd.Stderr = source, append(os.Environ(), "GOOS=linux", "GOARCH="+arch), os.Stderr
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the packages: %w", err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(list)) {
		words := strings.Split(strings.TrimSpace(line), "\t")
		if found[words[0]] == nil {
			found[words[0]] = []string{words[1]}
		}
		found[words[0]] = append(found[words[0]], words[2])
	}
	return found, nil
}

// licences reads the licences at the top of a module, in the folders of its packages, and in the folders in
// between: a package by another author may have its own licence. A module without a licence is refused: we
// must not distribute it.
func licences(root string, packages ...string) (list []licence, err error) {
	folders := []string{root}
	for _, folder := range packages {
		for ; len(folder) > len(root); folder = filepath.Dir(folder) {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !licenceName.MatchString(entry.Name()) || entry.IsDir() {
				continue
			}
			path := filepath.Join(folder, entry.Name())
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			list = append(list, licence{strings.TrimPrefix(path, root+"/"), text})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no licence", root)
	}
	return list, nil
}

// headOfScript is the first line of a JavaScript library: where it is from, and its version.
var headOfScript = regexp.MustCompile(`^/\*! https://\S+ \(v([0-9.]+)\)`)

// copied finds the libraries of others in a folder: each has a NAME-LICENSE.txt beside NAME.js.
func copied(folder string) (list []module, err error) {
	const suffix = "-LICENSE.txt"
	paths, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		script, err := os.ReadFile(strings.TrimSuffix(path, suffix) + ".js")
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), suffix)
		head := headOfScript.FindSubmatch(script)
		if head == nil {
			return nil, fmt.Errorf("the first line of %s.js has no version", name)
		}
		version := string(head[1])
		list = append(list, module{path: name, version: version, url: "pkg:npm/" + name + "@" + version,
			texts: []licence{{filepath.Base(path), text}}})
	}
	return list, err
}

// notices has the text of every licence in the program.
func notices(modules []module) []byte {
	var file bytes.Buffer
	line := strings.Repeat("=", 80)
	for _, m := range modules {
		for _, l := range m.texts {
			fmt.Fprintf(&file, "%s\n%s %s: %s\n%s\n\n%s\n\n",
				line, m.path, m.version, l.name, line, bytes.TrimSpace(l.text))
		}
	}
	return file.Bytes()
}

// identifiers are the SPDX identifiers of a module's known licences.
func (m module) identifiers() (list []string) {
	for _, l := range m.texts {
		for _, match := range licensecheck.Scan(l.text).Match {
			if !slices.Contains(list, match.ID) && !match.IsURL {
				list = append(list, match.ID)
			}
		}
	}
	slices.Sort(list)
	return list
}

// bill is the software bill of materials (SBOM) in CycloneDX 1.6.
func bill(modules []module, version, revision string, at time.Time) ([]byte, error) {
	server := cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication,
		BOMRef: "flashsale", Name: "flashsale", Version: version,
		Properties: &[]cyclonedx.Property{{Name: "vcs.revision", Value: revision}}}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &server}
	var components []cyclonedx.Component
	uses := []string{}
	for _, m := range modules {
		components = append(components, m.component())
		uses = append(uses, m.url)
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
