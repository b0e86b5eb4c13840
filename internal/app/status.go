package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/config"
	"flashsale/internal/observe/status"
)

// The exit codes of flashsale status.
const (
	statusWell = iota
	statusAway
	statusUnreached
)

const clearScreen = "\x1b[H\x1b[J"

// showStatus is the command that shows how a sale goes.
func showStatus(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := config.ParseStatus(args, p.stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusWell
	case err != nil:
		fmt.Fprintln(p.stderr, "flashsale status:", err)
		return statusUnreached
	}
	s := status.New(cfg.Servers)
	s.Read(ctx)
	for first := true; ; first = false {
		if !s.Reached() && !cfg.Watch {
			break // a second reading could not be compared
		}
		if !background.Pause(ctx, cfg.Interval) {
			return statusCode(s)
		}
		code = statusCode(s)
		s.Read(ctx)
		if ctx.Err() != nil {
			return code // the last reading was interrupted
		}
		if !cfg.Watch {
			break
		}
		p.redraw(s, first)
	}
	fmt.Fprint(p.stdout, s)
	return statusCode(s)
}

// redraw shows the status in place of the last one, or below it if the output is no terminal.
func (p *program) redraw(s *status.Status, first bool) {
	switch {
	case isTerminal(p.stdout):
		fmt.Fprint(p.stdout, clearScreen)
	case !first:
		fmt.Fprintln(p.stdout)
	}
	fmt.Fprintf(p.stdout, "%s\n%s", time.Now().Format(time.DateTime), s)
}

func statusCode(s *status.Status) int {
	switch {
	case !s.Reached():
		return statusUnreached
	case !s.Well():
		return statusAway
	}
	return statusWell
}
