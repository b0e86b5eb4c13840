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
	name string // of its file, below the module's folder
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
	linked, err := r.linked()
	if err != nil {
		return fmt.Errorf("cannot find the packages: %w", err)
	}
	for _, d := range r.dependencies() {
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		if m.texts, err = licences(linked[d.Path].root, linked[d.Path].packages...); err != nil {
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

// folders are those of a module: its own, and those of its packages that are in the programs.
type folders struct {
	root     string
	packages []string
}

// linked finds the folders of what is in the programs for all architectures, by the path of the module.
func (r *release) linked() (map[string]folders, error) {
	found := map[string]folders{}
	for _, arch := range architectures {
		cmd := exec.Command("go", "list", "-deps", "-f",
			"{{if not .Standard}}{{.Module.Path}}\t{{.Module.Dir}}\t{{.Dir}}{{end}}", ".")
		cmd.Dir, cmd.Env, cmd.Stderr = r.source, goEnvironment(arch), os.Stderr
		list, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(list)) {
			words := strings.Split(strings.TrimSpace(line), "\t")
			found[words[0]] = folders{words[1], append(found[words[0]].packages, words[2])}
		}
	}
	return found, nil
}

// licences reads those at the top of a module, in the folders of its packages, and in those between: a
// package that its author took from someone else has one of its own. A module without any is refused: it
// must not be passed on.
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
