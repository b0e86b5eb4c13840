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

// module is what the program was built from: a Go module, the standard library, or a library that the
// repository has a copy of.
type module struct {
	path, version, sum string
	url                string // of the package, as package-url has them
	texts              []licence
}

// licence is a text that must go along with the program.
type licence struct {
	name string // of its file
	text []byte
}

var licenceName = regexp.MustCompile(`(?i)^(?:(.+)-)?(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// findModules finds those of the programs for all architectures: the standard library, then Go modules by
// path, then what the repository has of others.
func (r *release) findModules() error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	std := module{path: "std", version: strings.TrimPrefix(r.programs[architectures[0]].info.GoVersion, "go")}
	if std.texts, err = licences(strings.TrimSpace(string(root))); err != nil {
		return err
	}
	r.modules = []module{std}
	dependencies := r.dependencies()
	list := []string{"list", "-m", "-f", "{{.Dir}}"}
	for _, d := range dependencies {
		list = append(list, d.Path)
	}
	cmd := exec.Command("go", list...)
	cmd.Dir = r.source
	folders, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot find the modules: %w", err)
	}
	for i, folder := range strings.Split(strings.TrimSpace(string(folders)), "\n") {
		m := module{path: dependencies[i].Path, version: dependencies[i].Version, sum: dependencies[i].Sum}
		if m.texts, err = licences(folder); err != nil {
			return err
		}
		r.modules = append(r.modules, m)
	}
	for i, m := range r.modules {
		r.modules[i].url = "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B")
	}
	return r.findOwn()
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

// headOfScript is the first line of a JavaScript library: where it is from, and its version.
var headOfScript = regexp.MustCompile(`^/\*! https://\S+ \(v([0-9.]+)\)`)

// findOwn finds what the repository has: libraries of others, each with a NAME-LICENSE.txt beside NAME.js,
// and the repository's own licence, where there is one.
func (r *release) findOwn() error {
	return filepath.WalkDir(r.source, func(path string, entry fs.DirEntry, err error) error {
		found := licenceName.FindStringSubmatch(entry.Name())
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || found == nil || filepath.Ext(path) == ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m := module{path: "flashsale", version: r.version, texts: []licence{{entry.Name(), text}}}
		if found[1] == "" {
			r.own = append(r.own, m)
			return nil
		}
		m.path = found[1]
		script, err := os.ReadFile(filepath.Join(filepath.Dir(path), m.path+".js"))
		if err != nil {
			return err
		}
		head := headOfScript.FindSubmatch(script)
		if head == nil {
			return fmt.Errorf("the first line of %s.js has no version", m.path)
		}
		m.version = string(head[1])
		m.url = "pkg:npm/" + m.path + "@" + m.version
		r.modules = append(r.modules, m)
		return nil
	})
}

// notices has the text of every licence under which parts of the program come.
func (r *release) notices() []byte {
	var file bytes.Buffer
	line := strings.Repeat("=", 80)
	for _, m := range slices.Concat(r.own, r.modules) {
		for _, l := range m.texts {
			fmt.Fprintf(&file, "%s\n%s %s: %s\n%s\n\n%s\n\n",
				line, m.path, m.version, l.name, line, bytes.TrimSpace(l.text))
		}
	}
	return file.Bytes()
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
