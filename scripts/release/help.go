package main

import (
	"context"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// helpLimit bounds what hangs.
const helpLimit = 30 * time.Second

// command is one of the program's commands, as its help describes it.
type command struct {
	name   string   // "" is the server, "status", "sale open"
	usage  []string // lines above the flags
	groups []group
}

// group is some flags under a title of the help.
type group struct {
	title string
	flags []option
}

// option is a flag.
type option struct {
	name     string // without the hyphen
	value    string // what it takes, in a word or two; "" is nothing
	variable string // its environment name; "" is none
	text     string
}

// readHelp asks the program for its commands and their flags.
func (r *release) readHelp() error {
	text, err := r.help()
	if err != nil {
		return err
	}
	r.commands = []command{parseHelp("", text)}
	for i := 0; i < len(r.commands); i++ {
		for _, name := range r.commands[i].mentioned() {
			known := slices.ContainsFunc(r.commands, func(c command) bool { return c.name == name })
			// Not all that looks like a command is one: the program refuses the others.
			if text, err := r.help(strings.Fields(name)...); err == nil && !known {
				r.commands = append(r.commands, parseHelp(name, text))
			}
		}
	}
	return nil
}

// help is what -h of a command writes. The machine's settings are kept from the program.
func (r *release) help(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), helpLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.programs[runtime.GOARCH].path, append(words, "-h")...)
	cmd.Dir, cmd.Env = r.stage, []string{"APP_HOST=127.0.0.1"}
	text, err := cmd.Output()
	return string(text), err
}

var mention = regexp.MustCompile(`^flashsale ([a-z]+)(?: ([a-z]+(?:\|[a-z]+)*))?`)

// mentioned are the names that may be commands: "flashsale audit, with ..." mentions audit, and "flashsale
// sale open|close" sale, sale open and sale close.
func (c command) mentioned() (names []string) {
	for _, line := range c.usage {
		found := mention.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		names = append(names, found[1])
		for sub := range strings.FieldsFuncSeq(found[2], func(r rune) bool { return r == '|' }) {
			names = append(names, found[1]+" "+sub)
		}
	}
	return names
}

var (
	flagLine = regexp.MustCompile(`^  -(\S+)(?: (\S.*?))?(?:  \[(\w+)\])?$`)
	textLine = regexp.MustCompile(`^        (.*)$`)
)

// parseHelp reads what -h of a command writes: the usage, then titles with flags, each with a line of text.
func parseHelp(name, text string) command {
	c := command{name: name}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			c.groups = append(c.groups, group{})
		} else if last := len(c.groups) - 1; last < 0 {
			c.usage = append(c.usage, line)
		} else {
			c.groups[last].add(line)
		}
	}
	c.groups = slices.DeleteFunc(c.groups, func(g group) bool { return g.title == "" })
	return c
}

// add takes in the next line of the help: the title, a flag, or the text of the flag before.
func (g *group) add(line string) {
	if g.title == "" {
		g.title = line
	} else if found := flagLine.FindStringSubmatch(line); found != nil {
		g.flags = append(g.flags, option{name: found[1], value: found[2], variable: found[3]})
	} else if found := textLine.FindStringSubmatch(line); found != nil && len(g.flags) > 0 {
		g.flags[len(g.flags)-1].text = found[1]
	}
}

// takesServers begins the last line of the help of a command that takes the flags of the server without
// listing them.
const takesServers = "Flags of the server are taken too"

// beyond returns the groups that a command has beside those of the server, and whether it takes all these.
func (c command) beyond(server command) (own []group, served bool) {
	if last := len(c.groups) - 1; last >= 0 && strings.HasPrefix(c.groups[last].title, takesServers) {
		return c.groups[:last], true
	}
	is := func(g group) func(group) bool {
		return func(other group) bool { return g.title == other.title && slices.Equal(g.flags, other.flags) }
	}
	for _, g := range server.groups {
		if !slices.ContainsFunc(c.groups, is(g)) {
			return c.groups, false
		}
	}
	for _, g := range c.groups {
		if !slices.ContainsFunc(server.groups, is(g)) {
			own = append(own, g)
		}
	}
	return own, true
}

var words = regexp.MustCompile(`^[a-z]+(\|[a-z]+)+$`)

// choices are the words that a flag takes, if it takes only some.
func (o option) choices() []string {
	if value := strings.ReplaceAll(o.value, " or ", "|"); words.MatchString(value) {
		return strings.Split(value, "|")
	}
	return nil
}

// takesFile reports whether a flag takes a path.
func (o option) takesFile() bool {
	return strings.Contains(o.value, "file") || strings.Contains(o.value, "folder")
}

// isSwitch reports whether a flag takes no value.
func (o option) isSwitch() bool { return o.value == "" }
