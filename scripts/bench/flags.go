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
	operand string // the meaning of the word after the name, "" = no word
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

// parse reads a command line and the environment. After -h it writes the usage to out and returns
// flag.ErrHelp; any other error is a sale.ErrUsage.
func parse(args []string, out io.Writer) (task, error) {
	sub := &subcommands[0]
	named := func(s subcommand) bool { return len(args) > 0 && s.name == args[0] }
	if i := slices.IndexFunc(subcommands, named); i >= 0 {
		sub, args = &subcommands[i], args[1:]
	}
	operand := ""
	if sub.operand != "" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		operand, args = args[0], args[1:]
	}
	t := sub.new()
	fs := flag.NewFlagSet("bench "+sub.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	t.register(fs)
	err := ff.Parse(fs, args, ff.WithEnvVars())
	switch {
	case errors.Is(err, flag.ErrHelp):
		sub.help(fs, out)
		return nil, flag.ErrHelp
	case err != nil:
		return nil, fmt.Errorf("%w: %w (bench %s -h lists all flags)", sale.ErrUsage, err, sub.name)
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

// help writes the usage of the subcommand; that of the first one lists all subcommands.
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

// line gives the command with every setting that is not a default as a flag, also if it came from the
// environment. Passwords and secrets are left out.
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
		case strings.Contains(f.Name, "pass") || strings.Contains(f.Name, "secret"):
			value = "(set)"
		}
		words = append(words, "-"+f.Name+"="+value)
	})
	return strings.Join(words, " ")
}

// quoted quotes a word that a shell would split.
func quoted(word string) string {
	if strings.ContainsAny(word, " |&;<>()$`\\\"'*?") {
		return strconv.Quote(word)
	}
	return word
}
