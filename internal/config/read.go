package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3"
)

// read sets the flags from the arguments, and all other flags from the environment. The error is one line
// that names the flag or the variable.
func (f *Flags) read(args []string) error {
	// ff would read the arguments too, but its error names neither the flag nor what is wrong with it.
	if err := f.set.Parse(args); err != nil {
		return f.wrongFlag(err)
	}
	if rest := f.set.Args(); len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q (-h lists all flags)", rest[0])
	}
	f.set.Visit(func(found *flag.Flag) { f.given[found.Name] = true })
	for name := range f.noEnv { // ff leaves set flags alone
		if !f.given[name] {
			_ = f.set.Set(name, f.set.Lookup(name).DefValue) // its own default
		}
	}
	if err := ff.Parse(f.set, nil, ff.WithEnvVars()); err != nil {
		return f.wrongVariable(err)
	}
	return nil
}

// source names where the value of a flag comes from: "-redis-host" or "REDIS_HOST".
func (f *Flags) source(name string) string {
	if !f.given[name] && !f.noEnv[name] && os.Getenv(envName(name)) != "" {
		return envName(name)
	}
	return "-" + name
}

// wrongFlag explains an error of package flag, which is known by its text only.
func (f *Flags) wrongFlag(err error) error {
	var value, name string
	for _, format := range []string{"invalid value %q for flag -%s", "invalid boolean value %q for -%s"} {
		if n, _ := fmt.Sscanf(err.Error(), format, &value, &name); n == 2 {
			name = strings.TrimSuffix(name, ":")
			return f.wrongType("-"+name, value, f.set.Lookup(name))
		}
	}
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	const shortest = 5 // a word of fewer letters resembles too many flags
	if _, name, unknown := strings.Cut(err.Error(), "not defined: -"); unknown && len(name) >= shortest {
		var names []string
		f.set.VisitAll(func(known *flag.Flag) { names = append(names, known.Name) })
		if meant := nearest(strings.TrimPrefix(name, "-"), names); meant != "" {
			return fmt.Errorf("%w; did you mean -%s? (-h lists all flags)", err, meant)
		}
	}
	return fmt.Errorf("%w (-h lists all flags)", err)
}

// wrongVariable explains an error of ff.
func (f *Flags) wrongVariable(err error) error {
	var name string
	const format = "error parsing environment variables: error setting flag %q"
	if n, _ := fmt.Sscanf(err.Error(), format, &name); n != 1 {
		return err
	}
	return f.wrongType(envName(name), os.Getenv(envName(name)), f.set.Lookup(name))
}

// duration is the syntax of time.ParseDuration. A refused time of this form is too large.
var duration = regexp.MustCompile(`^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

func (f *Flags) wrongType(source, value string, found *flag.Flag) error {
	due, large := "another", false
	switch found.Value.(flag.Getter).Get().(type) {
	case int:
		_, err := strconv.ParseInt(value, 0, strconv.IntSize)
		due, large = "a whole number", errors.Is(err, strconv.ErrRange)
	case bool:
		due = "true or false"
	case time.Duration:
		due, large = "a time with its unit, as in 5s or 200ms", duration.MatchString(value)
	}
	if large {
		return fmt.Errorf("%s is %s; it must be %s", source, value, f.ranges[found.Name])
	}
	return fmt.Errorf("%s is %q; it must be %s", source, value, due)
}
