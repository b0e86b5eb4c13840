package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// module is what the program was built from: a Go module, or the standard library.
type module struct {
	path, version, sum string
	texts              []licence
}

// licence is a text that must go along with the program.
type licence struct {
	name string // of its file
	text []byte
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// modules are those of the programs for all architectures, by path, behind the standard library.
func (r *release) modules() ([]module, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std := module{path: "std", version: strings.TrimPrefix(r.programs[architectures[0]].info.GoVersion, "go")}
	if std.texts, err = licences(strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	var list []module
	for _, dependency := range r.dependencies() {
		m := module{path: dependency.Path, version: dependency.Version, sum: dependency.Sum}
		cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m.path)
		cmd.Dir = r.source
		folder, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("cannot find module %s: %w", m.path, err)
		}
		if m.texts, err = licences(strings.TrimSpace(string(folder))); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return append([]module{std}, list...), nil
}

func (r *release) dependencies() (list []*debug.Module) {
	known := map[string]bool{}
	for _, arch := range architectures {
		for _, m := range r.programs[arch].info.Deps {
			if !known[m.Path] {
				known[m.Path] = true
				list = append(list, m)
			}
		}
	}
	slices.SortFunc(list, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// licences reads those at the top of a module. A module without any is refused: it must not be passed on.
func licences(folder string) (list []licence, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !licenceName.MatchString(entry.Name()) || entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, licence{entry.Name(), text})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no licence", folder)
	}
	return list, nil
}

// own are the licences in the repository: of what it holds of others, and its own where there is one.
func (r *release) own() (list []licence, err error) {
	err = filepath.WalkDir(r.source, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !licenceName.MatchString(entry.Name()) || strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.source, path) // it is below
		list = append(list, licence{name, text})
		return err
	})
	return list, err
}

// notices has the text of every licence under which parts of the program come.
func (r *release) notices() ([]byte, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	own, err := r.own()
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	write := func(of string, text []byte) {
		line := strings.Repeat("=", 80)
		fmt.Fprintf(&file, "%s\n%s\n%s\n\n%s\n\n", line, of, line, bytes.TrimSpace(text))
	}
	for _, l := range own {
		write("flashsale: "+l.name, l.text)
	}
	for _, m := range modules {
		for _, l := range m.texts {
			write(fmt.Sprintf("%s %s: %s", m.path, m.version, l.name), l.text)
		}
	}
	return file.Bytes(), nil
}

// identifiers are the SPDX identifiers of a module's licences, as far as their texts are known ones.
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
