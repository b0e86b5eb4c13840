package config

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// group is some flags under a title of the help.
type group struct {
	title string
	names []string
}

// newGroup names the flags that register adds.
func newGroup(fs *flag.FlagSet, title string, register func()) group {
	before := map[string]bool{}
	fs.VisitAll(func(f *flag.Flag) { before[f.Name] = true })
	register()
	g := group{title: title}
	fs.VisitAll(func(f *flag.Flag) {
		if !before[f.Name] {
			g.names = append(g.names, f.Name)
		}
	})
	return g
}

// help writes all flags with their environment names and returns flag.ErrHelp.
func help(out io.Writer, fs *flag.FlagSet, groups []group) error {
	fmt.Fprintln(out, "flashsale opens a sale over HTTP. A flag wins over its environment name, which stands in brackets.")
	fmt.Fprintln(out, "flashsale audit, with the same flags, compares the orders in Redis with those in the database of -ledger.")
	fmt.Fprintln(out, "flashsale -version tells which build this is.")
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s\n", g.title)
		for _, name := range g.names {
			f := fs.Lookup(name)
			unit, usage := flag.UnquoteUsage(f)
			if f.DefValue != "" && !secret(name) {
				usage += fmt.Sprintf(" (default %s)", f.DefValue)
			}
			fmt.Fprintf(out, "  -%s %s  [%s]\n        %s\n", name, unit, envName(name), usage)
		}
	}
	return flag.ErrHelp
}

// String lists the settings that differ from their default, secrets masked, for the log.
func (c *Config) String() string {
	var set []string
	c.flags.VisitAll(func(f *flag.Flag) {
		switch value := f.Value.String(); {
		case value == f.DefValue:
		case secret(f.Name):
			set = append(set, f.Name+"=(set)")
		default:
			set = append(set, f.Name+"="+value)
		}
	})
	if len(set) == 0 {
		return "all defaults"
	}
	return strings.Join(set, " ")
}

// secret reports whether the flag's value must not be shown.
func secret(name string) bool {
	return strings.Contains(name, "secret") || strings.Contains(name, "pass") || name == "service-token" ||
		name == "ledger" // a password is in it
}

func envName(flagName string) string {
	return strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}
