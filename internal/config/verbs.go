package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// verbs is a command that does one of several things.
type verbs struct {
	command string // "sale"
	does    string // what it does: "runs a sale from a terminal"
	list    []verb // in the order of its help
	end     string // of each help
}

// verb is one of the things, with its line of the help.
type verb struct {
	name, usage string
	object      string // the argument that must follow, "" for none
}

func (v *verbs) names() (names []string) {
	for _, verb := range v.list {
		names = append(names, verb.name)
	}
	return names
}

// help is the help of the command.
func (v *verbs) help() string {
	text := fmt.Sprintf("flashsale %s %s [flags] %s.\n", v.command, strings.Join(v.names(), "|"), v.does)
	for _, verb := range v.list {
		text += fmt.Sprintf("  %-8s %s\n", verb.name, verb.usage)
	}
	return text + fmt.Sprintf("flashsale %s VERB -h has its flags.\n", v.command) + v.end
}

// choose takes the verb and its object off the arguments. After -h in their place the error is flag.ErrHelp.
func (v *verbs) choose(args []string, out io.Writer) (chosen verb, object string, rest []string, err error) {
	name := ""
	if len(args) > 0 {
		name, rest = args[0], args[1:]
	}
	if isHelp(name) {
		fmt.Fprint(out, v.help())
		return chosen, "", nil, flag.ErrHelp
	}
	names := v.names()
	i := slices.Index(names, name)
	switch {
	case name == "":
		return chosen, "", nil, errors.New("a verb is missing\n" + v.help())
	case i < 0:
		return chosen, "", nil, fmt.Errorf("%q is no verb of flashsale %s; %s (flashsale %[2]s -h)",
			name, v.command, Suggest(name, names))
	}
	chosen = v.list[i]
	if chosen.object == "" {
		return chosen, "", rest, nil
	}
	switch {
	case len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return chosen, rest[0], rest[1:], nil
	case len(rest) > 0 && isHelp(rest[0]):
		return chosen, "", rest, nil
	}
	return chosen, "", nil, fmt.Errorf("say flashsale %s %s %s [flags]", v.command, name, chosen.object)
}

func isHelp(word string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, word) }

// usageOf is the beginning of the help of a verb.
func (v *verbs) usageOf(chosen verb) string {
	words := []string{"flashsale", v.command, chosen.name}
	if chosen.object != "" {
		words = append(words, chosen.object)
	}
	return fmt.Sprintf("%s [flags] %s.\n%s", strings.Join(words, " "), chosen.usage, v.end)
}
