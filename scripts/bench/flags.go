package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/peterbourgon/ff/v3"

	"flashsale/scripts/bench/sale"
)

// subcommand is one thing that bench can do.
type subcommand struct {
	name    string
	operand string // what the word after the name is, "" = there is none
	does    string
	new     func() task
}

// task is a subcommand at work, with its own options.
type task interface {
	register(fs *flag.FlagSet)
	// resolve takes the options apart and checks them. given are the flags that were set; line gives the
	// whole command, with what resolve has filled in. Its errors are a sale.ErrUsage.
	resolve(operand string, given map[string]bool, line func() string) error
	run(ctx context.Context, stdout, stderr io.Writer) error
}

func (s *subcommand) flags(t task) *flag.FlagSet {
	fs := flag.NewFlagSet("bench "+s.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	t.register(fs)
	return fs
}

// parse reads a command line and the environment. After -h it writes the usage to out and returns
// flag.ErrHelp; any other error is a sale.ErrUsage.
func parse(args []string, out io.Writer) (task, error) {
	sub, args := choose(args)
	operand := ""
	if sub.operand != "" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		operand, args = args[0], args[1:]
	}
	t := sub.new()
	fs := sub.flags(t)
	err := ff.Parse(fs, args, ff.WithEnvVars())
	switch {
	case errors.Is(err, flag.ErrHelp):
		sub.help(fs, out)
		return nil, flag.ErrHelp
	case err != nil:
		return nil, sub.refusal(err)
	case fs.NArg() > 0:
		return nil, fmt.Errorf("%w: %q is not a flag (bench %s -h lists all flags)", sale.ErrUsage,
			fs.Arg(0), sub.name)
	case sub.operand != "" && operand == "":
		return nil, fmt.Errorf("%w: bench %s wants %s behind its name (bench %[2]s -h)", sale.ErrUsage,
			sub.name, sub.operand)
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return t, t.resolve(operand, given, func() string { return sub.line(operand, fs) })
}

// choose finds the subcommand of a command line, by its name or by an old flag, and the arguments that
// belong to it.
func choose(args []string) (*subcommand, []string) {
	if len(args) > 0 {
		if sub := find(args[0]); sub != nil {
			return sub, args[1:]
		}
	}
	for i, arg := range args {
		name, value, assigned := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		sub := find(oldFlags[name])
		if sub == nil || !strings.HasPrefix(arg, "-") {
			continue
		}
		rest := slices.Delete(slices.Clone(args), i, i+1)
		if sub.operand == "" {
			if value == "false" {
				return choose(rest)
			}
			return sub, rest
		}
		if !assigned && i < len(rest) {
			value = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
		return sub, slices.Insert(rest, 0, value)
	}
	return &subcommands[0], args
}

func find(name string) *subcommand {
	for i := range subcommands {
		if subcommands[i].name == name {
			return &subcommands[i]
		}
	}
	return nil
}

// help writes the usage of the subcommand, of the first one with the list of all.
func (s *subcommand) help(fs *flag.FlagSet, out io.Writer) {
	if s == &subcommands[0] {
		fmt.Fprintln(out, "bench [subcommand] [flags]; bench subcommand -h lists its flags. Subcommands, "+
			"the first by default:")
		for _, sub := range subcommands {
			fmt.Fprintf(out, "  %-8s %s\n", sub.name, sub.does)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%s: %s\nEvery flag has an environment name: capitals, - becomes _ (DB_HOST).\n",
		strings.TrimSpace(fs.Name()+" "+s.operand), s.does)
	fs.SetOutput(out)
	fs.PrintDefaults()
}

// refusal is the error of arguments that cannot be read. A flag that only others have is told from an
// unknown one.
func (s *subcommand) refusal(err error) error {
	_, name, unknown := strings.Cut(err.Error(), "flag provided but not defined: -")
	if other := oldFlags[name]; other != "" {
		return fmt.Errorf("%w: -%s means bench %s, but bench %s is named", sale.ErrUsage, name,
			other, s.name)
	}
	var owners []string
	for i := range subcommands {
		if sub := &subcommands[i]; unknown && sub.flags(sub.new()).Lookup(name) != nil {
			owners = append(owners, sub.name)
		}
	}
	if owners != nil {
		return fmt.Errorf("%w: -%s is a flag of bench %s, not of bench %s",
			sale.ErrUsage, name, strings.Join(owners, ", "), s.name)
	}
	return fmt.Errorf("%w: %w (bench %s -h lists all flags)", sale.ErrUsage, err, s.name)
}

// line gives the command with every setting that is not a default as a flag, whether it came from one or
// from the environment. Passwords are left out.
func (s *subcommand) line(operand string, fs *flag.FlagSet) string {
	words := []string{"bench"}
	if s != &subcommands[0] {
		words = append(words, s.name)
	}
	if operand != "" {
		words = append(words, quoted(operand))
	}
	fs.VisitAll(func(f *flag.Flag) {
		value := quoted(f.Value.String())
		switch {
		case f.Value.String() == f.DefValue:
			return
		case strings.Contains(f.Name, "pass"):
			value = "(set)"
		}
		words = append(words, "-"+f.Name+"="+value)
	})
	return strings.Join(words, " ")
}

// quoted quotes a word that a shell would take apart.
func quoted(word string) string {
	if strings.ContainsAny(word, " |&;<>()$`\\\"'*?") {
		return strconv.Quote(word)
	}
	return word
}
