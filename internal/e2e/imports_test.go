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

	"flashsale/internal/child"
	"flashsale/internal/stand"
)

const module = "flashsale"

// Rooms are the packages below internal that have no line of their own here.
var (
	// leaves may be imported by any package; they import leaves only.
	leaves = []string{"child", "datafolder", "figures", "framing", "logpace", "proc", "rawio", "version"}
	// ports serve clients' sockets and know nothing of the sale; they import leaves only, and eventloop the
	// port listener too.
	ports = []string{"eventloop", "listener"}
	// testKits are imported by tests and scripts only, and may import anything but main.
	testKits = []string{"corpus", "client", "e2e", "logtest", "mariadbtest", "polltest", "stand"}
)

// exceptions are the imports that cross the lines of the plan, each with its reason.
var exceptions = map[[2]string]string{
	{"internal/config", "internal/catalog"}:     "it fills the Config of the room",
	{"internal/config", "internal/limits"}:      "it reads the rules",
	{"internal/config", "internal/traffic"}:     "it reads the tiers",
	{"internal/config", "tokens"}:               "it checks the least length of a secret, which tokens knows",
	{"internal/eventloop", "internal/listener"}: "its limits hold for clients of the loop, too",
}

// libraries are those that belong to some packages only.
var libraries = []struct {
	prefixes []string
	allowed  func(of string) bool
	where    string
}{
	{
		[]string{"github.com/mediocregopher/radix"},
		func(of string) bool { return below(of, "redisx") || kind(of) == "room" },
		"redisx, redisx/pipeline and rooms",
	},
	{
		[]string{"github.com/prometheus"},
		func(of string) bool { return of == "internal/ops" || of == "internal/status" },
		"internal/ops and internal/status",
	},
	{
		[]string{"github.com/valyala/fasthttp"},
		func(of string) bool {
			return of == "handlers" || of == "internal/eventloop" || of == "scripts/bench/compare"
		},
		"handlers, internal/eventloop and the floor in scripts/bench/compare",
	},
	{
		[]string{"github.com/chromedp"},
		func(string) bool { return false },
		"tests",
	},
	{
		[]string{"github.com/pb33f", "go.yaml.in/yaml"},
		func(of string) bool { return of == "internal/apitest" },
		"internal/apitest",
	},
	{
		[]string{"database/sql", "github.com/go-sql-driver/mysql"},
		func(of string) bool {
			return of == "internal/catalog" || of == "internal/ledger" || below(of, "scripts") ||
				kind(of) == "test kit"
		},
		"internal/catalog, internal/ledger, scripts and test kits",
	},
}

// TestImports holds the lines of the plan: main -> app -> config, handlers, rooms -> redisx -> pipeline ->
// leaves, and handlers -> tokens.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, line := range goList(t) {
		of, imports := ours(line[0]), line[1:]
		for _, imported := range imports {
			for _, library := range libraries {
				is := slices.ContainsFunc(library.prefixes, func(p string) bool { return below(imported, p) })
				if is && !library.allowed(of) {
					t.Errorf("%s imports %s, which is for %s only", line[0], imported, library.where)
				}
			}
			if below(imported, module) && !mayImport(of, ours(imported)) {
				t.Errorf("%s must not import %s", line[0], imported)
			}
		}
	}
}

// kind is the place of a package in the plan.
func kind(of string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(of, "internal/"), "/")
	switch {
	case of == "":
		return "main"
	case slices.Contains(testKits, path.Base(of)) || strings.HasSuffix(of, "test"):
		return "test kit"
	case !below(of, "internal"):
		return name // handlers, redisx, tokens, scripts
	case slices.Contains(leaves, name):
		return "leaf"
	case slices.Contains(ports, name):
		return "port"
	case name == "app" || name == "config":
		return name
	}
	return "room"
}

// mayImport reports whether one package of ours, named by its path in the module, may import another.
func mayImport(of, imported string) bool {
	if _, excepted := exceptions[[2]string{of, imported}]; excepted || below(imported, of) && of != "" {
		return true
	}
	from, to := kind(of), kind(imported)
	switch {
	case below(of, "scripts/bench/audit") && below(imported, "scripts/bench/load"):
		return false // a fault of the load must not hide in its proof
	case to == "main" || to == "scripts":
		return from == "scripts"
	case to == "test kit":
		return from == "test kit" || from == "scripts"
	case to == "leaf" || from == "test kit":
		return true
	}
	switch from {
	case "main":
		return to == "app"
	case "app":
		return to != "app"
	case "handlers":
		return to != "app" && to != "config"
	case "room":
		return to == "redisx" || to == "port"
	case "config":
		return to == "redisx" || to == "port"
	case "scripts":
		return to != "app" && to != "handlers"
	}
	return false // leaves, ports, redisx, tokens
}

// ours is a package's path inside the module, "" for package main.
func ours(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// below reports whether a package is at or below a path.
func below(of, top string) bool { return of == top || strings.HasPrefix(of, top+"/") }

// goList returns each package of the module with its imports, those of tests left out.
func goList(t *testing.T) [][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, module+"/...")
	var output, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &faults
	stand.Must(t, child.Start(cmd, syscall.SIGKILL))
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
		{"", "internal/app", true},
		{"", "handlers", false},
		{"internal/app", "handlers", true},
		{"internal/app", "internal/push", true},
		{"internal/app", "", false},
		{"internal/app", "internal/stand", false},
		{"handlers", "internal/limits", true},
		{"handlers", "internal/listener", true},
		{"handlers", "tokens", true},
		{"handlers", "internal/app", false},
		{"handlers", "internal/config", false},
		{"handlers", "", false},
		{"internal/push", "redisx", true},
		{"internal/push", "redisx/pipeline", true},
		{"internal/push", "internal/listener", true},
		{"internal/push", "internal/child", true},
		{"internal/push", "internal/limits", false},
		{"internal/push", "handlers", false},
		{"internal/push", "tokens", false},
		{"internal/config", "internal/catalog", true},
		{"internal/config", "internal/push", false},
		{"internal/child", "internal/proc", true},
		{"internal/child", "redisx", false},
		{"internal/listener", "internal/rawio", true},
		{"internal/listener", "handlers", false},
		{"internal/eventloop", "redisx", false},
		{"internal/eventloop", "internal/listener", true},
		{"internal/eventloop", "internal/framing", true},
		{"internal/listener", "internal/eventloop", false},
		{"redisx/pipeline", "internal/eventloop", false}, // its tests may, as all tests
		{"internal/eventloop/looptest", "internal/eventloop", true},
		{"redisx", "redisx/pipeline", true},
		{"redisx", "tokens", false},
		{"redisx", "internal/logpace", true},
		{"redisx", "internal/push", false},
		{"redisx/pipeline", "redisx", false},
		{"redisx/pipeline", "internal/rawio", true},
		{"redisx/redistest", "internal/child", true},
		{"tokens", "redisx", false},
		{"scripts/bench", "internal/catalog", true},
		{"scripts/bench", "scripts/bench/audit", true},
		{"scripts/bench/audit", "scripts/bench/load", false},
		{"scripts/bench", "internal/stand", true},
		{"scripts/bench", "handlers", false},
		{"internal/push", "internal/stand", false},
		{"handlers", "internal/apitest", false}, // its tests may
		{"scripts/bench", "internal/apitest", true},
		{"pricing", "redisx", false},
	} {
		if got := mayImport(test.of, test.imported); got != test.want {
			t.Errorf("%q imports %q: allowed %v, want %v", test.of, test.imported, got, test.want)
		}
	}
}

// The top level holds what the plan allows, what .gitignore names, and dot files.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{"main.go", "handlers", "redisx", "tokens", "scripts", "internal", "go.mod", "go.sum",
		"README.md"}
	for ignored := range strings.FieldsSeq(stand.ReadFile(t, root+".gitignore")) {
		allowed = append(allowed, strings.Trim(ignored, "/"))
	}
	entries, err := os.ReadDir(root)
	stand.Must(t, err)
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(allowed, name) && !strings.HasPrefix(name, ".") {
			t.Errorf("%s is at the top level, where the plan has no place for it", name)
		}
	}
}
