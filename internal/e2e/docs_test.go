package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// readmeLinesMax keeps the README short enough to be read.
const readmeLinesMax = 110

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docSpan    = regexp.MustCompile("`([^`]+)`")
	docHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	docFence   = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	docFlag    = regexp.MustCompile(`^--?([a-z][a-z0-9-]*)(=.*)?$`)
	docSource  = regexp.MustCompile(`^[\w.*-]+\.(go|lua|sh|md|cfg|service)$`)
	docNotSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	shellWord  = regexp.MustCompile(`("[^"]*"|'[^']*'|[^\s"'])+`)
	helpFlag   = regexp.MustCompile(`(?m)(?:^\s+|\[)-([a-z][a-z0-9-]*)`)
)

// docFacts is what the texts are checked against.
type docFacts struct {
	texts  map[string]string          // by name, from the top of the repository
	files  []string                   // and folders, from the top of the repository
	flags  map[string]map[string]bool // by program
	drills []string
}

// TestDocs checks that links and commands in the texts of the repository work: files, headings, flags and
// drills are there.
func TestDocs(t *testing.T) {
	t.Parallel()
	facts := readFacts(t)
	for name, text := range facts.texts {
		for _, fault := range facts.check(name, text) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	if lines := strings.Count(facts.texts["README.md"], "\n"); lines > readmeLinesMax {
		t.Errorf("README.md has %d lines, want at most %d", lines, readmeLinesMax)
	}
	for _, drill := range facts.drills {
		if !strings.Contains(facts.texts["scripts/drill/README.md"], "`"+drill+"`") {
			t.Errorf("scripts/drill/README.md does not name the drill %s", drill)
		}
	}
}

// check returns the faults of a text.
func (f *docFacts) check(of, text string) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, fence := range docFence.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(fence[2]) {
			if fence[1] == "sh" {
				f.command(line, fault)
			}
		}
	}
	prose := docFence.ReplaceAllString(text, "\n")
	for _, link := range docLink.FindAllStringSubmatch(prose, -1) {
		f.link(of, link[1], fault)
	}
	for _, span := range docSpan.FindAllStringSubmatch(prose, -1) {
		words := strings.Fields(span[1])
		for _, word := range words {
			f.path(of, strings.Trim(word, `,;:'"`), fault)
		}
		if len(words) > 0 && docFlag.MatchString(words[0]) {
			f.anyFlag(docFlag.FindStringSubmatch(words[0])[1], fault)
		} else {
			f.command(span[1], fault)
		}
	}
	return faults
}

// link checks a link's file and the heading in it.
func (f *docFacts) link(of, target string, fault func(string, ...any)) {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	name, anchor, anchored := strings.Cut(target, "#")
	if name = path.Join(path.Dir(of), name); strings.HasPrefix(target, "#") {
		name = of
	}
	if !slices.Contains(f.files, name) {
		fault("link to %s: there is no such file", target)
	} else if anchored && !slices.Contains(anchors(f.texts[name]), anchor) {
		fault("link to %s: there is no such heading", target)
	}
}

// anchors are the names that GitHub gives to the headings of a text.
func anchors(text string) (names []string) {
	seen := map[string]int{}
	for _, heading := range docHeading.FindAllStringSubmatch(docFence.ReplaceAllString(text, "\n"), -1) {
		name := docNotSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading[1])), "")
		name = strings.ReplaceAll(name, " ", "-")
		seen[name]++
		if n := seen[name]; n > 1 {
			name = fmt.Sprintf("%s-%d", name, n-1)
		}
		names = append(names, name)
	}
	return names
}

// path checks a word that looks like a path of this repository: it begins with a name of the top level, or
// it is the name of a source file in any folder.
func (f *docFacts) path(of, word string, fault func(string, ...any)) {
	word = strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/")
	first, _, nested := strings.Cut(word, "/")
	if (!nested || !slices.Contains(f.files, first)) && !docSource.MatchString(word) {
		return
	}
	if !slices.ContainsFunc(f.files, func(name string) bool {
		if !nested {
			name = path.Base(name)
		}
		top, _ := path.Match(word, name)
		beside, _ := path.Match(path.Join(path.Dir(of), word), name)
		return top || beside
	}) {
		fault("path %s: there is no such file", word)
	}
}

// anyFlag checks a flag that stands alone.
func (f *docFacts) anyFlag(flag string, fault func(string, ...any)) {
	for _, flags := range f.flags {
		if flags[flag] || flag == "h" {
			return
		}
	}
	fault("flag -%s: no program has it", flag)
}

// command checks the flags and drills behind a program of ours in a line of shell, up to the end of its
// command.
func (f *docFacts) command(line string, fault func(string, ...any)) {
	program, previous := "", ""
	for _, word := range shellWord.FindAllString(line, -1) {
		found := docFlag.FindStringSubmatch(word)
		switch {
		case word == "|" || word == "&&" || word == ";":
			program = ""
		case strings.HasPrefix(word, "#"):
			return
		case program == "":
			folder, name := path.Split(strings.TrimPrefix(word, "./"))
			if name == "flashsale" && folder == "" || folder == "scripts/" && f.flags[name] != nil {
				program = name
			}
		case found != nil:
			// three.sh gives bench what it does not know.
			if !f.flags[program][found[1]] && found[1] != "h" &&
				!(program == "three.sh" && f.flags["bench"][found[1]]) {
				fault("flag -%s: %s has none", found[1], program)
			}
		case program == "drill" && strings.TrimLeft(previous, "-") == "only":
			for name := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == ',' || r == '+' }) {
				if !slices.ContainsFunc(f.drills, func(d string) bool { ok, _ := path.Match(name, d); return ok }) {
					fault("drill %s: there is none", name)
				}
			}
		}
		previous = word
	}
}

// readFacts reads the texts, lists the files, and asks each program for its flags.
func readFacts(t *testing.T) *docFacts {
	t.Helper()
	f := &docFacts{texts: map[string]string{}, flags: map[string]map[string]bool{}}
	f.list(t)
	for _, source := range []string{"", "/scripts/bench", "/scripts/blocklist-gen", "/scripts/chat",
		"/scripts/drill", "/scripts/mysql", "/scripts/vegeta"} {
		program := launch.Built(t, module+source)
		f.addFlags(t, path.Base(program), helpOf(t, program))
	}
	f.flags["flashsale"]["version"] = true // instead of the other flags
	script, err := filepath.Abs(root + "scripts/three.sh")
	testkit.Must(t, err)
	f.addFlags(t, "three.sh", output(t, script, "-h"))
	f.addFlags(t, "go test", output(t, "go", "help", "testflag"))
	f.flags["go test"]["race"], f.flags["go test"]["tags"] = true, true
	f.flags["redis-cli"] = map[string]bool{"cluster-pipeline": true, "cluster-replicas": true}
	for line := range strings.Lines(output(t, launch.Built(t, module+"/scripts/drill"), "-list")) {
		f.drills = append(f.drills, strings.Fields(line)[0])
	}
	return f
}

// addFlags finds the flags at the beginning of a line of a help, or in brackets.
func (f *docFacts) addFlags(t *testing.T, program, help string) {
	f.flags[program] = map[string]bool{}
	for _, found := range helpFlag.FindAllStringSubmatch(help, -1) {
		f.flags[program][found[1]] = true
	}
	if len(f.flags[program]) == 0 {
		t.Errorf("the help of %s has no flags", program)
	}
}

// helpOf is the help of a program and of its subcommands that have flags of their own.
func helpOf(t *testing.T, program string) string {
	t.Helper()
	help := output(t, program, "-h")
	switch path.Base(program) {
	case "bench":
		for _, sub := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(help, -1) {
			help += output(t, program, sub[1], "-h")
		}
	case "chat":
		help += output(t, program, "load", "-h")
	case "flashsale":
		for _, verb := range []string{"open", "close", "events", "export", "new"} {
			help += output(t, program, "sale", verb, "-h")
		}
		help += output(t, program, "account", "list", "-h")
		help += output(t, program, "operator", "add", "-h") + output(t, program, "operator", "totp", "-h")
	}
	return help
}

// output returns what a command writes. Its exit code does not count: some programs end with 2 after -h.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var written bytes.Buffer
	cmd.Stdout, cmd.Stderr = &written, &written
	testkit.Must(t, child.Start(cmd, syscall.SIGKILL))
	_ = cmd.Wait()
	return written.String()
}

// list lists files and folders of the repository by their slash paths, and reads the Markdown files. Names
// that begin with a dot are left out, but for .ci.
func (f *docFacts) list(t *testing.T) {
	t.Helper()
	testkit.Must(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(file), root)
		switch {
		case err != nil || file == root:
			return err
		case strings.HasPrefix(entry.Name(), ".") && name != ".ci", name == "flashsale-data":
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		f.files = append(f.files, name)
		if strings.HasSuffix(name, ".md") && !strings.Contains(name, "testdata/") {
			f.texts[name] = testkit.ReadFile(t, file)
		}
		return nil
	}))
}
