package e2e

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// docFacts is what the texts are checked against.
type docFacts struct {
	markdown []string                   // names of all texts, from the top of the repository
	texts    map[string]string          // by name
	files    []string                   // and folders, from the top of the repository
	flags    map[string]map[string]bool // by program
	drills   []string
}

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docSpan    = regexp.MustCompile("`([^`]+)`")
	docHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	docFence   = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	docFlag    = regexp.MustCompile(`^--?([a-z][a-z0-9-]*)(=.*)?$`)
	docSource  = regexp.MustCompile(`^[\w.*-]+\.(go|lua|sh|md|cfg|service)$`)
	docHyphens = regexp.MustCompile(`^[a-z]+(-([a-z]+|\*))+$`)
	docNotSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// notDrills are words of scripts/drill/README.md that look like the name of a drill.
var notDrills = []string{"redis-server", "redis-cli", "redis-check-aof"}

// docCheck is the check of one text.
type docCheck struct {
	facts  *docFacts
	of     string
	faults []string
	counts map[string]int // of what was checked, by kind
}

// check returns the faults of a text and the number of words of each kind that it looked at.
func (f *docFacts) check(of, text string) (faults []string, counts map[string]int) {
	c := &docCheck{facts: f, of: of, counts: map[string]int{}}
	for _, fence := range docFence.FindAllStringSubmatch(text, -1) {
		if fence[1] == "sh" {
			for line := range strings.Lines(fence[2]) {
				c.command(line)
			}
		}
	}
	prose := docFence.ReplaceAllString(text, "\n")
	for _, link := range docLink.FindAllStringSubmatch(prose, -1) {
		c.link(link[1], text)
	}
	for _, paragraph := range paragraphs(prose) {
		for _, span := range docSpan.FindAllStringSubmatch(paragraph, -1) {
			c.span(span[1], paragraph)
		}
	}
	return c.faults, c.counts
}

func (c *docCheck) fault(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.faults, text) {
		c.faults = append(c.faults, text)
	}
}

// paragraphs splits a text at blank lines and before each item of a list and each row of a table.
func paragraphs(text string) (list []string) {
	begin := regexp.MustCompile(`^\s*$|^\s*(-|\d+\.) |^\|`)
	for line := range strings.Lines(text) {
		if len(list) == 0 || begin.MatchString(line) {
			list = append(list, "")
		}
		list[len(list)-1] += line
	}
	return list
}

// link checks a link's file and the heading in it; the text is that of the file with the link.
func (c *docCheck) link(target, text string) {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	c.counts["link"]++
	name, anchor, anchored := strings.Cut(target, "#")
	if name != "" {
		name = path.Join(path.Dir(c.of), name)
		if !slices.Contains(c.facts.files, name) {
			c.fault("link to %s: there is no such file", target)
			return
		}
		text = c.facts.texts[name]
	}
	if !anchored {
		return
	}
	c.counts["anchor"]++
	if !slices.Contains(anchors(text), anchor) {
		c.fault("link to %s: there is no such heading", target)
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

// span checks the code that stands between backticks in a paragraph.
func (c *docCheck) span(code, paragraph string) {
	words := strings.Fields(code)
	if len(words) == 0 {
		return
	}
	for _, word := range words {
		c.path(strings.Trim(word, `,;:'"`))
	}
	if found := docFlag.FindStringSubmatch(words[0]); found != nil {
		c.counts["flag"]++
		if !slices.ContainsFunc(c.named(paragraph), func(p string) bool { return c.has(p, found[1]) }) {
			c.fault("flag -%s: no program of this paragraph has it", found[1])
		}
	} else {
		c.command(code)
	}
	if c.of == "scripts/drill/README.md" && len(words) == 1 &&
		docHyphens.MatchString(code) && !slices.Contains(notDrills, code) {
		c.drill(code)
	}
}

// path checks a word that looks like a path of this repository: it begins with a name of the top level, or
// it is the name of a source file in any folder.
func (c *docCheck) path(word string) {
	word = strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/")
	first, _, _ := strings.Cut(word, "/")
	ours := strings.Contains(word, "/") && slices.Contains(c.facts.files, first)
	if !ours && !docSource.MatchString(word) {
		return
	}
	c.counts["path"]++
	if !slices.ContainsFunc(c.facts.files, func(name string) bool {
		if !strings.Contains(word, "/") {
			name = path.Base(name)
		}
		top, _ := path.Match(word, name)
		beside, _ := path.Match(path.Join(path.Dir(c.of), word), name)
		return top || beside
	}) {
		c.fault("path %s: there is no such file", word)
	}
}

// named returns the programs that a flag without one may belong to: the program of the text, and those that
// the paragraph names.
func (c *docCheck) named(paragraph string) []string {
	programs := []string{"flashsale"}
	if room, found := strings.CutPrefix(path.Dir(c.of), "scripts/"); found && c.facts.flags[room] != nil {
		programs = append(programs, room)
	}
	for program := range c.facts.flags {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(program) + `\b`).MatchString(paragraph) {
			programs = append(programs, program)
		}
	}
	return programs
}

// has reports whether a program takes a flag. three.sh gives bench what it does not know.
func (c *docCheck) has(program, flag string) bool {
	if program == "three.sh" && c.facts.flags["bench"][flag] {
		return true
	}
	return c.facts.flags[program][flag] || flag == "h"
}

// command checks the flags behind a program of ours in a line of shell, up to the end of its command.
func (c *docCheck) command(line string) {
	program, previous := "", ""
	for _, word := range shellWords(line) {
		switch found := docFlag.FindStringSubmatch(word); {
		case word == "|" || word == "&&" || word == ";":
			program = ""
		case strings.HasPrefix(word, "#"):
			return
		case program == "":
			program = c.started(word)
		case found != nil:
			c.counts["flag"]++
			if !c.has(program, found[1]) {
				c.fault("flag -%s: %s has none", found[1], program)
			}
		case program == "drill" && strings.TrimLeft(previous, "-") == "only":
			for name := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == ',' || r == '+' }) {
				c.drill(name)
			}
		}
		previous = word
	}
}

// started returns the program of ours that a word of a command starts, "" for any other word.
func (c *docCheck) started(word string) string {
	folder, name := path.Split(strings.TrimPrefix(word, "./"))
	if name == "flashsale" && folder == "" || folder == "scripts/" && c.facts.flags[name] != nil {
		return name
	}
	return ""
}

// shellWords splits a line at spaces outside quotes.
func shellWords(line string) []string {
	return regexp.MustCompile(`("[^"]*"|'[^']*'|[^\s"'])+`).FindAllString(line, -1)
}

// drill checks the name of a drill, or a pattern that stands for several.
func (c *docCheck) drill(name string) {
	c.counts["drill"]++
	if !slices.ContainsFunc(c.facts.drills, func(d string) bool { ok, _ := path.Match(name, d); return ok }) {
		c.fault("drill %s: there is none", name)
	}
}
