// Command chat talks to the conversation of a sale, as a person in a terminal or as a load:
//
//	go run ./scripts/chat -user ann                # the password comes from CHAT_PASSWORD or a prompt
//	go run ./scripts/chat load -users 1000         # a load that proves what it got
//
// It knows only the HTTP calls and Centrifugo's protocol: it looks from outside.
//
// Exit codes: 0 all went well, 1 the load found a violation, 2 bad usage or no server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitViolated = 1
	exitUsage    = 2
)

var (
	errViolated = errors.New("the conversation broke its promises")
	errUsage    = errors.New("bad usage")
)

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "chat:", err)
	if errors.Is(err, errViolated) {
		os.Exit(exitViolated)
	}
	os.Exit(exitUsage)
}

// run is the whole command.
func run(args []string, in io.Reader, out io.Writer) error {
	ctx, restoreSignals := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restoreSignals()
	context.AfterFunc(ctx, restoreSignals) // a second signal kills
	if len(args) > 0 && args[0] == "load" {
		o, err := parseLoad(args[1:], out)
		if err != nil {
			return err
		}
		return newCrowd(o).run(ctx, out)
	}
	p, err := parsePerson(args, in, out)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

// parse reads flags, and refuses anything behind them.
func parse(fs *flag.FlagSet, args []string, out io.Writer) error {
	fs.SetOutput(out)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, fs.Arg(0))
	}
	return nil
}
