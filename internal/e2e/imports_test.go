package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
)

const module = "flashsale"

// leaves may be imported by any package. They import nothing of ours.
var leaves = []string{"internal/background", "internal/logpace", "internal/proc", "internal/profiling",
	"internal/version", "internal/wholefile"}

// plan is what the packages of each folder may import, beside each other and the leaves. Only scripts and
// tests import the test kit and internal/openapi; this does not look at tests.
var plan = map[string][]string{
	"": {"internal/app"},
	"internal/app": {"handlers", "internal/catalog", "internal/config", "internal/credentials",
		"internal/export", "internal/observe", "internal/rooms", "internal/serve", "internal/store",
		"internal/supervise", "redisx", "tokens"},
	"internal/config":      {"internal/catalog", "internal/rooms", "internal/store", "redisx", "tokens"},
	"internal/catalog":     {},
	"internal/credentials": {"redisx"},
	"internal/export":      {"redisx"},
	"internal/openapi":     {},
	"internal/supervise":   {"internal/store"},
	"internal/rooms": { // not each other
		"internal/credentials", "internal/observe/figures", "internal/serve", "internal/webhook", "redisx"},
	"internal/observe": {"internal/serve", "redisx"},
	"internal/store":   {},
	"internal/serve":   {"internal/observe/figures"},
	"internal/webhook": {},
	"internal/testkit": {"internal/store", "redisx"},
	"internal/e2e":     {"internal/testkit"},
	"handlers": {"internal/catalog", "internal/credentials", "internal/export", "internal/observe",
		"internal/rooms", "internal/serve", "redisx", "tokens"},
	"redisx":           {"internal/observe/figures", "redisx/pipeline"},
	"redisx/pipeline":  {"internal/observe/figures", "internal/serve/rawio"},
	"redisx/redistest": {"internal/testkit"},
	"redisx/saletest":  {"internal/testkit", "redisx"},
	"tokens":           {},
	"scripts": {"handlers/web", "internal/catalog", "internal/config", "internal/observe", "internal/openapi",
		"internal/rooms", "internal/serve", "internal/store", "internal/supervise", "internal/testkit", "redisx",
		"tokens"},

	"internal/serve/eventloop/looptest": {"internal/serve/eventloop", "internal/testkit"},
}

// alone are the folders of packages that know nothing of each other.
var alone = []string{"internal/rooms"}

// libraries are those that belong to some folders only.
var libraries = []struct {
	prefixes, folders []string
}{
	{[]string{"github.com/mediocregopher/radix"}, []string{"redisx", "internal/rooms"}},
	{[]string{"github.com/prometheus"}, []string{"internal/observe", "internal/proc", "internal/rooms/push"}},
	{[]string{"github.com/centrifugal"}, []string{"internal/rooms/push", "scripts/chat"}},
	{[]string{"github.com/valyala/fasthttp"}, []string{"handlers", "internal/serve", "scripts/bench"}},
	{[]string{"golang.org/x/image"}, []string{"internal/rooms/images"}},
	{[]string{"github.com/chromedp"}, nil}, // tests
	{[]string{"github.com/pb33f", "go.yaml.in/yaml"}, []string{"internal/openapi"}},
	{[]string{"database/sql", "github.com/go-sql-driver/mysql"},
		[]string{"internal/catalog", "internal/rooms/ledger", "internal/rooms/operators", "internal/testkit",
			"scripts"}},
	{[]string{"github.com/coreos/go-oidc", "golang.org/x/oauth2"}, []string{"internal/rooms/oidc"}},
	{[]string{"github.com/pquerna/otp"}, []string{"internal/rooms/operators"}},
}

// TestImports holds the lines of the plan.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, line := range goList(t) {
		of, imports := ours(line[0]), line[1:]
		for _, imported := range imports {
			for _, library := range libraries {
				if belowAny(imported, library.prefixes) && !belowAny(of, library.folders) {
					t.Errorf("%s imports %s, which is for %q and tests only", line[0], imported, library.folders)
				}
			}
			if below(imported, module) && !mayImport(of, ours(imported)) {
				t.Errorf("%s must not import %s", line[0], imported)
			}
		}
	}
}

// mayImport reports whether one package of ours, named by its path in the module, may import another.
func mayImport(of, imported string) bool {
	folder := folderOf(of)
	switch {
	case imported == "", folder == "" && of != "":
		return false
	case below(of, "scripts/bench/audit") && below(imported, "scripts/bench/load"):
		return false // a fault of the load must not hide in its proof
	case slices.Contains(leaves, imported):
		return true
	case slices.Contains(alone, folder): // its packages do not import each other
		return below(imported, of) || belowAny(imported, plan[folder])
	case below(imported, folder) && of != "":
		return true
	}
	return belowAny(imported, plan[folder])
}

// folderOf returns the deepest folder of the plan that a package stands in, "" outside of all.
func folderOf(of string) string {
	for ; of != "."; of = path.Dir(of) {
		if _, found := plan[of]; found {
			return of
		}
	}
	return ""
}

// ours is a package's path inside the module, "" for package main.
func ours(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// belowAny reports whether a package is at or below one of some paths.
func belowAny(of string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return below(of, path) })
}

// below reports whether a package is at or below a path.
func below(of, top string) bool { return of == top || strings.HasPrefix(of, top+"/") }

// goList returns each package of the module with its imports, those of tests left out.
func goList(t *testing.T) [][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, module+"/...")
	var output, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &faults
	testkit.Must(t, child.Start(cmd, syscall.SIGKILL))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v\n%s", err, faults.Bytes())
	}
	var packages [][]string
	for line := range strings.Lines(output.String()) {
		packages = append(packages, strings.Fields(line))
	}
	return packages
}

// The top level holds what the plan allows, what .gitignore names, and dot files.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{"main.go", "handlers", "redisx", "tokens", "scripts", "internal", "go.mod", "go.sum",
		"README.md"}
	for ignored := range strings.FieldsSeq(testkit.ReadFile(t, root+".gitignore")) {
		allowed = append(allowed, strings.Trim(ignored, "/"))
	}
	entries, err := os.ReadDir(root)
	testkit.Must(t, err)
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(allowed, name) && !strings.HasPrefix(name, ".") {
			t.Errorf("%s is at the top level, where the plan has no place for it", name)
		}
	}
}
