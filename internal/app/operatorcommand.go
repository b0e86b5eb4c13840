package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"flashsale/internal/config"
	"flashsale/internal/credentials"
	"flashsale/internal/rooms/operators"
)

// operatorRefusals are the errors of commands that the list of operators does not permit.
var operatorRefusals = []error{operators.ErrThere, operators.ErrNobody, operators.ErrTooMany,
	operators.ErrWeak, operators.ErrReserved, credentials.ErrBadName, credentials.ErrMixedName}

// errOtherPassword is the outcome of a password that was typed differently the second time.
var errOtherPassword = errors.New("the two passwords differ")

// passwordLineMax is the longest line that is read as a password, in bytes.
const passwordLineMax = 4096

// runOperator is the command that keeps the list of operators.
func runOperator(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := config.ParseOperator(args, p.stdout)
	if err == nil {
		err = (&operatorCommand{p, cfg}).run(ctx)
	}
	if errors.Is(err, flag.ErrHelp) {
		return commandDone
	}
	return p.exitCode("operator", err, operatorRefusals)
}

// operatorCommand is one run of flashsale operator.
type operatorCommand struct {
	*program
	cfg *config.OperatorCommand
}

func (c *operatorCommand) run(ctx context.Context) error {
	switch c.cfg.Verb {
	case config.OperatorList:
		return c.list(ctx)
	case config.OperatorAdd:
		return c.add()
	case config.OperatorPasswd:
		password, err := c.askPassword()
		if err != nil {
			return err
		}
		return c.change("the password of %s is changed; all logins end with the next SIGHUP of the servers",
			func(o *operators.Operator) error { return o.SetPassword(password) })
	case config.OperatorTOTP:
		return c.setTOTP()
	}
	return c.remove()
}

// list prints a line for each operator.
func (c *operatorCommand) list(ctx context.Context) error {
	list, err := operators.Read(ctx, c.cfg.Operators)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, o := range list {
		factor := "password"
		if o.TOTP != "" {
			factor = fmt.Sprintf("password and code, %d recovery codes", len(o.Recovery))
		}
		fmt.Fprintf(&text, "%d\t%s\t%s\t%s\n", o.Number, o.Name, o.Role, factor)
	}
	_, err = fmt.Fprint(c.stdout, text.String())
	return err
}

func (c *operatorCommand) add() error {
	password, err := c.askPassword()
	if err != nil {
		return err
	}
	err = operators.Change(c.cfg.Operators, func(list []operators.Operator) ([]operators.Operator, error) {
		return operators.Add(list, c.cfg.Name, c.cfg.Role, password)
	})
	if err != nil {
		return err
	}
	return c.done("%s is added with the role " + string(c.cfg.Role))
}

// setTOTP gives an operator another second factor, or none.
func (c *operatorCommand) setTOTP() error {
	if c.cfg.Off {
		return c.change("%s has no second factor any more; all logins end with the next SIGHUP",
			func(o *operators.Operator) error {
				o.TOTP, o.Recovery = "", nil
				return nil
			})
	}
	var url string
	var codes []string
	err := c.change("%s has a new second factor; with the next SIGHUP it counts, and all logins end",
		func(o *operators.Operator) (err error) {
			url, codes, err = o.SetTOTP()
			return err
		})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "\nThese are shown once. For the authenticator:\n\n  %s\n\nInstead of a "+
		"code, each once:\n\n  %s\n", url, strings.Join(codes, "\n  "))
	return err
}

func (c *operatorCommand) remove() error {
	return c.edit("%s is removed; all logins end with the next SIGHUP of the servers",
		func(list []operators.Operator, found *operators.Operator) ([]operators.Operator, error) {
			number := found.Number
			return slices.DeleteFunc(list, func(o operators.Operator) bool { return o.Number == number }), nil
		})
}

// change changes one operator and tells it.
func (c *operatorCommand) change(told string, change func(*operators.Operator) error) error {
	return c.edit(told, func(list []operators.Operator, o *operators.Operator) ([]operators.Operator, error) {
		return list, change(o)
	})
}

// edit makes another list, given the operator whom the command names, and tells what was done.
func (c *operatorCommand) edit(
	told string, edit func([]operators.Operator, *operators.Operator) ([]operators.Operator, error),
) error {
	err := operators.Change(c.cfg.Operators, func(list []operators.Operator) ([]operators.Operator, error) {
		o := operators.ByName(list, c.cfg.Name)
		if o == nil {
			return nil, operators.ErrNobody
		}
		return edit(list, o)
	})
	if err != nil {
		return err
	}
	return c.done(told)
}

// done tells what was done, and logs it.
func (c *operatorCommand) done(told string) error {
	slog.Info("the list of operators has changed", "operator", terminal, "verb", c.cfg.Verb, "name", c.cfg.Name)
	_, err := fmt.Fprintf(c.stdout, told+"\n", c.cfg.Name)
	return err
}

// askPassword asks for a new password on the terminal, twice, or reads a line of standard input. Arguments
// would show it to other users of the machine.
func (c *operatorCommand) askPassword() ([]byte, error) {
	stdin := int(os.Stdin.Fd())
	if !term.IsTerminal(stdin) {
		line, err := bufio.NewReader(io.LimitReader(os.Stdin, passwordLineMax)).ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cannot read the password: %w", err)
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
	var typed [2][]byte
	for i, ask := range []string{"Password of " + c.cfg.Name + ": ", "Again: "} {
		fmt.Fprint(c.stderr, ask)
		var err error
		typed[i], err = term.ReadPassword(stdin)
		fmt.Fprintln(c.stderr)
		if err != nil {
			return nil, fmt.Errorf("cannot read the password: %w", err)
		}
	}
	if !bytes.Equal(typed[0], typed[1]) {
		return nil, errOtherPassword
	}
	return typed[0], nil
}
