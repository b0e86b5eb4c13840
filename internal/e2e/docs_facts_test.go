package e2e

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/store/child"
)

// readFacts reads the texts, lists the files, and asks each program for its flags.
func readFacts(t *testing.T) *docFacts {
	t.Helper()
	f := &docFacts{texts: map[string]string{}, flags: map[string]map[string]bool{}}
	f.files, f.markdown = listFiles(t)
	for _, name := range f.markdown {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		f.texts[name] = string(text)
	}
	programs := t.TempDir()
	output(t, "go", "build", "-o", programs+"/", module, module+"/scripts/...")
	entries, err := os.ReadDir(programs)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "buy" { // an example, without flags
			continue
		}
		f.flags[entry.Name()] = helpFlags(helpOf(t, filepath.Join(programs, entry.Name())))
	}
	f.flags["flashsale"]["version"] = true // instead of the other flags
	for _, old := range []string{"audit-only", "compare", "ramp", "soak"} {
		f.flags["bench"][old] = true // it still takes them; its help lists the subcommands instead
	}
	script, err := filepath.Abs(filepath.Join(root, "scripts/three.sh"))
	if err != nil {
		t.Fatal(err)
	}
	f.flags["three.sh"] = helpFlags(output(t, script, "-h"))
	f.flags["go test"] = helpFlags(output(t, "go", "help", "testflag"))
	for _, buildFlag := range []string{"race", "tags"} {
		f.flags["go test"][buildFlag] = true
	}
	for program, flags := range f.flags {
		if len(flags) == 0 {
			t.Errorf("the help of %s has no flags", program)
		}
	}
	for line := range strings.Lines(output(t, filepath.Join(programs, "drill"), "-list")) {
		f.drills = append(f.drills, strings.Fields(line)[0])
	}
	return f
}

// helpOf is the help of a program and of its subcommands that have flags of their own.
func helpOf(t *testing.T, program string) string {
	t.Helper()
	help := output(t, program, "-h")
	switch filepath.Base(program) {
	case "bench":
		for _, sub := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(help, -1) {
			help += output(t, program, sub[1], "-h")
		}
	case "flashsale":
		for _, verb := range []string{"open", "close", "export", "new"} {
			help += output(t, program, "sale", verb, "-h")
		}
	}
	return help
}

// output returns what a command writes. Its exit code does not count: some programs end with 2 after -h.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var written bytes.Buffer
	cmd.Stdout, cmd.Stderr = &written, &written
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && name == "go" {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, written.Bytes())
	}
	return written.String()
}

// helpFlags finds the flags at the beginning of a line of a help, or in brackets.
func helpFlags(help string) map[string]bool {
	flags := map[string]bool{}
	flag := regexp.MustCompile(`(?m)(?:^\s+|\[)-([a-z][a-z0-9-]*)`)
	for _, found := range flag.FindAllStringSubmatch(help, -1) {
		flags[found[1]] = true
	}
	return flags
}

// tableCalls are the calls in the first column of a text's tables, as in "GET /foods".
func tableCalls(text string) map[string]bool {
	calls := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]*)\|`).FindAllStringSubmatch(text, -1) {
		for _, call := range regexp.MustCompile("`([A-Z]+ /[^`]*)`").FindAllStringSubmatch(row[1], -1) {
			calls[call[1]] = true
		}
	}
	return calls
}

// servedCalls are the calls that routes.go names: cases of a switch with a path, each with the methods in
// its body, and rows of a table with a method and a path. A path that ends with a slash is a prefix, which
// the switch's default serves.
func servedCalls(t *testing.T, source []byte) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "routes.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]bool{}
	add := func(paths []string, methods map[string]bool) {
		for _, path := range paths {
			for method := range methods {
				calls[method+" "+path] = true
			}
		}
	}
	var prefixes []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ValueSpec:
			for _, path := range routePaths(n.Values...) {
				if strings.HasSuffix(path, "/") && path != "//" {
					prefixes = append(prefixes, path+":id")
				}
			}
		case *ast.CompositeLit:
			add(routePaths(directly(n.Elts)...), routeMethods(n))
		case *ast.CaseClause:
			if n.List == nil {
				add(prefixes, routeMethods(n))
			} else {
				add(routePaths(n.List...), routeMethods(n))
			}
		}
		return true
	})
	return calls
}

// directly leaves out what holds other elements, so that a table's row is not taken for the whole table.
func directly(elements []ast.Expr) (list []ast.Expr) {
	for _, e := range elements {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if _, nested := e.(*ast.CompositeLit); !nested {
			list = append(list, e)
		}
	}
	return list
}

// routePaths are the string literals that begin with a slash.
func routePaths(nodes ...ast.Expr) (paths []string) {
	for _, node := range nodes {
		ast.Inspect(node, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.HasPrefix(text, "/") {
					paths = append(paths, text)
				}
			}
			return true
		})
	}
	return paths
}

// routeMethods are the methods below a node: MethodGet, IsGet and "GET" are all GET. HEAD comes with GET.
func routeMethods(node ast.Node) map[string]bool {
	methods := map[string]bool{}
	keep := func(method string) {
		switch method = strings.ToUpper(method); method {
		case "GET", "POST", "PUT", "PATCH", "DELETE":
			methods[method] = true
		}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			keep(strings.TrimPrefix(strings.TrimPrefix(n.Sel.Name, "Method"), "Is"))
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil {
				keep(text)
			}
		}
		return true
	})
	return methods
}
