package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/child"
)

const module = "flashsale"

// leaves are rooms below all others: any package may import them, and they import nothing of ours.
var leaves = []string{"child", "datafolder"}

// exceptions are the imports that cross the lines of the plan, each with its reason.
var exceptions = map[[2]string]string{
	{"internal/config", "internal/catalog"}: "it fills the Config of the room",
	{"internal/config", "tokens"}:           "it checks the least length of a secret, which tokens knows",
	{"redisx", "redisx/rawio"}:              "a part of it: it imports nothing of ours itself",
	{"handlers", "redisx/rawio"}:            "clients' connections are read and written in the same way",
}

// libraries are those that belong to some packages only.
var libraries = []struct {
	prefixes []string
	allowed  func(of string) bool
	where    string
}{
	{[]string{"github.com/mediocregopher/radix"}, func(of string) bool { return below(of, "redisx") || room(of) != "" }, "redisx and rooms"},
	{
		[]string{"github.com/valyala/fasthttp"},
		func(of string) bool { return of == "" || of == "handlers" || of == "scripts/bench/compare" },
		"main, handlers and the floor of scripts/bench/compare",
	},
	{
		[]string{"database/sql", "github.com/go-sql-driver/mysql"},
		func(of string) bool { return room(of) == "catalog" || room(of) == "ledger" || below(of, "scripts") },
		"internal/catalog, internal/ledger and scripts",
	},
}

// TestImports holds the lines of the plan: main -> handlers -> rooms -> redisx, handlers -> tokens.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, line := range goList(t) {
		of, imports := ours(line[0]), line[1:]
		for _, imported := range imports {
			for _, library := range libraries {
				if slices.ContainsFunc(library.prefixes, func(p string) bool { return below(imported, p) }) && !library.allowed(of) {
					t.Errorf("%s imports %s, which is for %s only", line[0], imported, library.where)
				}
			}
			if below(imported, module) && !mayImport(of, ours(imported)) {
				t.Errorf("%s must not import %s", line[0], imported)
			}
		}
	}
}

// mayImport says whether one package of ours, named by its path in the module, may import another.
func mayImport(of, imported string) bool {
	if _, excepted := exceptions[[2]string{of, imported}]; excepted {
		return true
	}
	switch from, to := room(of), room(imported); {
	case of == "":
		return true
	case of == "scripts/bench/audit" && imported == "scripts/bench/load":
		return false // what proves the load shares no code with it
	case below(of, "scripts"):
		return imported != "" && imported != "handlers"
	case slices.Contains(leaves, from):
		return false
	case testKit(of):
		return slices.Contains(leaves, to) || imported == path.Dir(of)
	case below(of, "tokens") || below(of, "redisx"):
		return false
	case of == "handlers":
		return to != "" || imported == "redisx" || imported == "tokens"
	case from != "":
		return from == to || slices.Contains(leaves, to) || imported == "redisx"
	}
	return false // a package that the plan does not know
}

// room is the name of the room that a package of ours belongs to, "" for none.
func room(of string) string {
	rest, found := strings.CutPrefix(of, "internal/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// testKit says that a package is imported by tests only, such as redisx/redistest.
func testKit(of string) bool { return strings.HasSuffix(of, "test") && strings.Contains(of, "/") }

// ours is a package's path inside the module, "" for package main.
func ours(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// below says whether a package is at or below a path.
func below(of, top string) bool { return of == top || strings.HasPrefix(of, top+"/") }

// goList returns each package of the module with what it imports, tests left out.
func goList(t *testing.T) [][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	var output, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &faults
	must(t, child.Start(cmd, syscall.SIGKILL))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v\n%s", err, faults.Bytes())
	}
	var packages [][]string
	for line := range strings.Lines(output.String()) {
		packages = append(packages, strings.Fields(line))
	}
	return packages
}

// The rules above are checked against what they must allow and refuse, so that none of them is empty.
func TestImportRules(t *testing.T) {
	for _, test := range []struct {
		of, imported string
		want         bool
	}{
		{"", "handlers", true},
		{"", "internal/push", true},
		{"handlers", "internal/limits", true},
		{"handlers", "tokens", true},
		{"handlers", "", false},
		{"internal/push", "redisx", true},
		{"internal/push", "internal/child", true},
		{"internal/push", "internal/limits", false},
		{"internal/push", "handlers", false},
		{"internal/push", "tokens", false},
		{"internal/config", "internal/catalog", true},
		{"internal/config", "internal/push", false},
		{"internal/child", "redisx", false},
		{"redisx", "tokens", false},
		{"redisx", "internal/child", false},
		{"redisx/redistest", "internal/child", true},
		{"redisx/redistest", "internal/catalog", false},
		{"tokens", "redisx", false},
		{"scripts/bench", "internal/catalog", true},
		{"scripts/bench", "handlers", false},
		{"scripts/drill", "scripts/bench/audit", true},
		{"scripts/bench/audit", "scripts/bench/sale", true},
		{"scripts/bench/audit", "scripts/bench/load", false},
		{"pricing", "redisx", false},
	} {
		if got := mayImport(test.of, test.imported); got != test.want {
			t.Errorf("%q imports %q: allowed %v, want %v", test.of, test.imported, got, test.want)
		}
	}
}

// The top level holds what the plan allows and what .gitignore names.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{"main.go", "handlers", "redisx", "tokens", "scripts", "internal", "go.mod", "go.sum", "README.md", "LICENSE", "default.pgo"}
	for ignored := range strings.FieldsSeq(read(t, ".gitignore")) {
		allowed = append(allowed, strings.Trim(ignored, "/"))
	}
	entries, err := os.ReadDir(".")
	must(t, err)
	for _, entry := range entries {
		name := entry.Name()
		if !slices.Contains(allowed, name) && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s is at the top level, where the plan has no place for it", name)
		}
	}
}
