package e2e

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readmeLinesMax keeps the README short enough to be read.
const readmeLinesMax = 220

// TestDocs checks each text of the repository against the repository and its programs.
func TestDocs(t *testing.T) {
	t.Parallel()
	facts := readFacts(t)
	checked := map[string]int{}
	for _, name := range facts.markdown {
		text := facts.texts[name]
		faults, counts := facts.check(name, text)
		for _, fault := range faults {
			t.Errorf("%s: %s", name, fault)
		}
		for what, n := range counts {
			checked[what] += n
		}
	}
	t.Logf("checked in %d texts: %v", len(facts.markdown), checked)
	// Less means that the check has lost its eyes, not that the texts have become short.
	for what, least := range map[string]int{"link": 10, "anchor": 5, "path": 40, "flag": 30, "drill": 20} {
		if checked[what] < least {
			t.Errorf("only %d of the texts' words were taken for a %s, want %d", checked[what], what, least)
		}
	}
	if lines := strings.Count(facts.texts["README.md"], "\n"); lines > readmeLinesMax {
		t.Errorf("README.md has %d lines, want at most %d", lines, readmeLinesMax)
	}
	drills := facts.texts["scripts/drill/README.md"]
	for _, drill := range facts.drills {
		if !strings.Contains(drills, "`"+drill+"`") {
			t.Errorf("scripts/drill/README.md does not name the drill %s", drill)
		}
	}
}

// TestDocsListCalls compares the README's table of calls with the routes of the server.
func TestDocsListCalls(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, "handlers/routes.go"))
	if err != nil {
		t.Fatal(err)
	}
	documented, served := tableCalls(string(text)), servedCalls(t, source)
	if len(served) < 9 {
		t.Errorf("only %d calls are found in routes.go: %v", len(served), slices.Sorted(maps.Keys(served)))
	}
	for call := range served {
		if !documented[call] {
			t.Errorf("README.md does not list %s of routes.go", call)
		}
	}
	for call := range documented {
		if !served[call] {
			t.Errorf("README.md lists %s, which is not in routes.go", call)
		}
	}
}

// The checks find each kind of fault in a text made for it, and none in a text without.
func TestDocsChecksFindFaults(t *testing.T) {
	facts := &docFacts{
		markdown: []string{"README.md", "scripts/drill/README.md"},
		texts: map[string]string{
			"README.md": "# Top\n", "scripts/drill/README.md": "# Fault drills\n\n## Why `x`?\n## Twice\n## Twice\n",
		},
		files: []string{"main.go", "handlers", "handlers/routes.go", "scripts", "scripts/drill",
			"scripts/drill/README.md", "README.md"},
		flags: map[string]map[string]bool{
			"flashsale": {"data": true}, "bench": {"rate": true}, "drill": {"only": true}, "three.sh": {"keep": true},
			"go test": {"race": true},
		},
		drills: []string{"redis-killed", "reset"},
	}
	for _, test := range []struct{ of, text, fault string }{
		{"README.md", "[x](scripts/drill/README.md)", ""},
		{"README.md", "[x](scripts/gone/README.md)", "link to scripts/gone/README.md: there is no such file"},
		{"README.md", "[x](scripts/drill/README.md#fault-drills) " +
			"[y](scripts/drill/README.md#why-x) [z](#top)", ""},
		{"README.md", "[x](scripts/drill/README.md#twice-1)", ""},
		{"README.md", "[x](scripts/drill/README.md#twice-2)",
			"link to scripts/drill/README.md#twice-2: there is no such heading"},
		{"README.md", "[x](#gone)", "link to #gone: there is no such heading"},
		{"scripts/drill/README.md", "[x](../../README.md#top) [y](https://a.example/b#c)", ""},
		{"scripts/drill/README.md", "[x](../README.md)", "link to ../README.md: there is no such file"},
		{"README.md", "`handlers/routes.go` `handlers/` `./handlers` `handlers/*.go`", ""},
		{"README.md", "`./...` `/login` `users.csv`", ""},
		{"README.md", "`handlers/gone.go`", "path handlers/gone.go: there is no such file"},
		{"README.md", "`go test ./gone ./scripts/gone`", "path scripts/gone: there is no such file"},
		{"README.md", "`handlers/*.lua`", "path handlers/*.lua: there is no such file"},
		{"README.md", "`routes.go`", ""},
		{"README.md", "`gone.go`", "path gone.go: there is no such file"},
		{"README.md", "```sh\ncat handlers/gone.go\n```", ""},
		{"README.md", "`-data` and `-data=x`", ""},
		{"README.md", "`-gone`", "flag -gone: no program of this paragraph has it"},
		{"README.md", "`-rate`", "flag -rate: no program of this paragraph has it"},
		{"README.md", "`scripts/bench -rate` or bench's `-rate`", "path scripts/bench: there is no such file"},
		{"README.md", "bench's `-rate`", ""},
		{"README.md", "- bench\n- `-rate`", "flag -rate: no program of this paragraph has it"},
		{"README.md", "`curl -sk x`, `go test -gone`", ""},
		{"README.md", "`go test` takes `-race`", ""},
		{"README.md", "`-race`", "flag -race: no program of this paragraph has it"},
		{"README.md", "`x $PWD/drill -gone`", ""},
		{"README.md", "`flashsale audit -gone`", "flag -gone: flashsale has none"},
		{"README.md", "`go run ./scripts/drill -data x`", "flag -data: drill has none"},
		{"README.md", "```sh\n./flashsale -data x   # -gone\n$ scripts/three.sh -rate 5 -keep | x -gone\n```", ""},
		{"README.md", "```sh\n./flashsale -only\n```", "flag -only: flashsale has none"},
		{"README.md", "```sh\ngo run ./scripts/bench -gone 5\n```", "flag -gone: bench has none"},
		{"README.md", "`go run ./scripts/drill -only reset+redis-killed`", ""},
		{"README.md", "`go run ./scripts/drill -only gone`", "drill gone: there is none"},
		{"scripts/drill/README.md", "`redis-killed`, `redis-*`, `redis-server`, `reset`", ""},
		{"scripts/drill/README.md", "`redis-gone`", "drill redis-gone: there is none"},
		{"scripts/drill/README.md", "`gone-*`", "drill gone-*: there is none"},
		{"README.md", "`redis-gone`", ""},
	} {
		facts.texts["made up"] = test.text
		if strings.Contains(test.text, "(#") {
			test.text += "\n# Top\n"
		}
		faults, _ := facts.check(test.of, test.text)
		got := strings.Join(faults, "; ")
		if got != test.fault {
			t.Errorf("%q in %s: found %q, want %q", test.text, test.of, got, test.fault)
		}
	}
}

// TestDocsReadCalls proves that tableCalls and servedCalls see what they are to compare.
func TestDocsReadCalls(t *testing.T) {
	table := tableCalls("| `GET /a`, `POST /a/:id` | `DELETE /b` |\nsee `PUT /c`\n")
	if want := map[string]bool{"GET /a": true, "POST /a/:id": true}; !maps.Equal(table, want) {
		t.Errorf("calls of the table: %v, want %v", table, want)
	}
	source := bytes.NewBufferString(`package handlers
var prefix = []byte("/p/")
var table = []route{{fasthttp.MethodDelete, "/rooms/:id", nil}, {"PUT", "/rooms", nil}}
func route() {
	switch path {
	case "/a":
		only(fasthttp.MethodPost)
	case "/b":
		switch {
		case ctx.IsGet(), ctx.IsHead():
		case ctx.IsPost():
		}
	case "*":
		other("GET")
	default:
		if found := cut(prefix); found { only(fasthttp.MethodPatch) }
	}
}`)
	got := servedCalls(t, source.Bytes())
	want := map[string]bool{"POST /a": true, "GET /b": true, "POST /b": true, "PATCH /p/:id": true,
		"DELETE /rooms/:id": true, "PUT /rooms": true}
	if !maps.Equal(got, want) {
		t.Errorf("calls of routes.go: %v, want %v", got, want)
	}
}

// listFiles lists files and folders of the repository by their slash paths, and the Markdown files among
// them. Names that begin with a dot are left out, but for .ci.
func listFiles(t *testing.T) (files, markdown []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case strings.HasPrefix(entry.Name(), ".") && name != ".ci", name == "flashsale-data":
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		name = filepath.ToSlash(name)
		files = append(files, name)
		if strings.HasSuffix(name, ".md") && !strings.Contains(name, "testdata/") {
			markdown = append(markdown, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, markdown
}
