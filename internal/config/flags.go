package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"flashsale/redisx"
)

// Flags are a program's flags. They come in groups, for the help; each has an environment name, numbers
// and times have a range.
type Flags struct {
	set     *flag.FlagSet
	groups  []group
	secrets []string          // names of the flags with values that must not be shown
	ranges  map[string]string // by the name of a number or a time: "from 1 to 256"
	checks  []func() error    // after parsing, in the order in which they were added
	given   map[string]bool
	noEnv   map[string]bool // flags that only arguments set
	helpEnd string          // in place of the groups after shown; "" if the help has all
	shown   int
}

// group is some flags under a title of the help.
type group struct {
	title string
	names []string
}

// NewFlags makes an empty set for a program.
func NewFlags(program string) *Flags {
	f := &Flags{set: flag.NewFlagSet(program, flag.ContinueOnError)}
	f.ranges, f.given, f.noEnv = map[string]string{}, map[string]bool{}, map[string]bool{}
	f.set.SetOutput(io.Discard) // one clear line instead of the whole help
	f.set.Usage = func() {}
	return f
}

// Group begins a group: the flags that are added from here on stand under the title.
func (f *Flags) Group(title string) { f.groups = append(f.groups, group{title: title}) }

// EndHelp ends the help with a line: groups that are added from here on are not in it.
func (f *Flags) EndHelp(line string) { f.helpEnd, f.shown = line, len(f.groups) }

// Text adds a flag for any text.
func (f *Flags) Text(p *string, name, value, usage string) {
	f.set.StringVar(p, name, value, usage)
	f.added(name)
}

// Secret adds a flag for a text that is never shown, its default included.
func (f *Flags) Secret(p *string, name, value, usage string) {
	f.secrets = append(f.secrets, name)
	f.Text(p, name, value, usage)
}

// Choice adds a flag for one of some words; the first is the default.
func (f *Flags) Choice(p *string, name string, words []string, usage string) {
	f.Text(p, name, words[0], usage)
	f.Check(func() error {
		if !slices.Contains(words, *p) {
			return fmt.Errorf("%s is %q; it must be %s", f.source(name), *p, strings.Join(words, " or "))
		}
		return nil
	})
}

// Switch adds a flag that is off by default.
func (f *Flags) Switch(p *bool, name, usage string) {
	f.set.BoolVar(p, name, false, usage)
	f.added(name)
}

// SwitchOff adds a switch that is on until it is set to false.
func (f *Flags) SwitchOff(p *bool, name, usage string) {
	f.set.BoolVar(p, name, true, usage)
	f.added(name)
}

// Number adds a flag for a whole number from least to most.
func (f *Flags) Number(p *int, name string, value, least, most int, usage string) {
	f.set.IntVar(p, name, value, usage)
	f.added(name)
	limit(f, p, name, least, most)
}

// Time adds a flag for a time from least to most.
func (f *Flags) Time(p *time.Duration, name string, value, least, most time.Duration, usage string) {
	f.set.DurationVar(p, name, value, usage)
	f.added(name)
	limit(f, p, name, least, most)
}

// Moment adds a flag for a moment with a zone, kept in UTC and rounded up to a millisecond; empty is the
// zero time.
func (f *Flags) Moment(p *time.Time, name, usage string) {
	text := new(string)
	f.Text(text, name, "", usage)
	f.Check(func() error {
		if *text == "" {
			return nil
		}
		t, err := time.Parse(time.RFC3339, *text)
		if err != nil || t.UnixMilli() <= 0 {
			return fmt.Errorf("%s is %q; it must be a time with a zone, such as 2026-11-22T10:00:00+01:00",
				f.source(name), *text)
		}
		*p = redisx.WholeMillisecond(t.UTC())
		return nil
	})
}

func limit[T cmp.Ordered](f *Flags, p *T, name string, least, most T) {
	f.ranges[name] = fmt.Sprintf("from %v to %v", least, most)
	f.Check(func() error {
		if *p < least || *p > most {
			return fmt.Errorf("%s is %v; it must be %s", f.source(name), *p, f.ranges[name])
		}
		return nil
	})
}

// needs refuses a flag of names that is set while no flag of hosts is set: it would be ignored.
func (f *Flags) needs(hosts []string, names ...string) {
	f.Check(func() error {
		alone := slices.IndexFunc(names, f.isSet)
		if alone < 0 || slices.ContainsFunc(hosts, f.isSet) {
			return nil
		}
		var missing []string
		for _, host := range hosts {
			missing = append(missing, fmt.Sprintf("-%s (%s)", host, envName(host)))
		}
		return fmt.Errorf("%s is set without %s; set both, or neither",
			f.source(names[alone]), strings.Join(missing, " or "))
	})
}

// isSet reports whether the flag or its variable has a value, even if that is the default.
func (f *Flags) isSet(name string) (set bool) {
	f.set.Visit(func(found *flag.Flag) { set = set || found.Name == name && found.Value.String() != "" })
	return set
}

// argumentsOnly keeps variables of the environment from setting these flags: their names are too common, or
// a person must ask for their effect each time.
func (f *Flags) argumentsOnly(names ...string) {
	for _, name := range names {
		f.noEnv[name] = true
	}
}

// refuseEmpty refuses the flag with an empty value, and its variable too. Elsewhere an empty variable counts
// as unset; here it would silently take away a protection.
func (f *Flags) refuseEmpty(name, cure string) {
	f.Check(func() error {
		source := "-" + name
		_, set := os.LookupEnv(envName(name))
		if !f.given[name] && set {
			source = envName(name)
		}
		if f.set.Lookup(name).Value.String() == "" && (f.given[name] || set) {
			return fmt.Errorf("%s is empty; %s", source, cure)
		}
		return nil
	})
}

// Check adds a check that runs after all flags were parsed; it may also derive a setting from them.
func (f *Flags) Check(check func() error) { f.checks = append(f.checks, check) }

// Parse reads the arguments (without the program's name) and the environment and checks them. The error
// is one line; it is flag.ErrHelp after the usage and all flags were written to out.
func (f *Flags) Parse(args []string, out io.Writer, usage string) error {
	err := f.read(args)
	if errors.Is(err, flag.ErrHelp) {
		f.help(out, usage)
	}
	if err != nil {
		return err
	}
	return f.check()
}

func (f *Flags) check() error {
	for _, check := range f.checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// added puts a flag into the last group.
func (f *Flags) added(name string) {
	if n := len(f.groups); n > 0 {
		f.groups[n-1].names = append(f.groups[n-1].names, name)
	}
}

// show puts flags that are added elsewhere into the help of this group, too.
func (f *Flags) show(names ...string) {
	for _, name := range names {
		f.added(name)
	}
}

// help writes the flags with their environment names.
func (f *Flags) help(out io.Writer, usage string) {
	fmt.Fprint(out, usage)
	shown := f.groups
	if f.helpEnd != "" {
		shown = f.groups[:f.shown]
	}
	for _, g := range shown {
		fmt.Fprintf(out, "\n%s\n", g.title)
		for _, name := range g.names {
			f.helpOf(out, name)
		}
	}
	if f.helpEnd != "" {
		fmt.Fprintf(out, "\n%s\n", f.helpEnd)
	}
}

// helpOf writes a flag. It adds the default unless the usage has it.
func (f *Flags) helpOf(out io.Writer, name string) {
	found := f.set.Lookup(name)
	unit, text := flag.UnquoteUsage(found)
	if unit != "" {
		unit = " " + unit
	}
	if found.DefValue != "" && !f.secret(name) && !strings.Contains(text, "(default") {
		text += fmt.Sprintf(" (default %s)", found.DefValue)
	}
	env := "  [" + envName(name) + "]"
	if f.noEnv[name] {
		env = ""
	}
	fmt.Fprintf(out, "  -%s%s%s\n        %s\n", name, unit, env, text)
}

// String lists the settings that differ from their default, secrets masked.
func (f *Flags) String() string {
	var set []string
	f.set.VisitAll(func(found *flag.Flag) {
		switch value := found.Value.String(); {
		case value == found.DefValue:
		case f.secret(found.Name):
			set = append(set, found.Name+"=(set)")
		default:
			set = append(set, found.Name+"="+value)
		}
	})
	if len(set) == 0 {
		return "all defaults"
	}
	return strings.Join(set, " ")
}

func (f *Flags) secret(name string) bool { return slices.Contains(f.secrets, name) }

func envName(flagName string) string {
	return strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}
