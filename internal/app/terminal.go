package app

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"flashsale/internal/config"
)

// The exit codes of the commands with verbs.
const (
	commandDone = iota
	commandRefused
	commandFailed
)

// onStore runs a command on the store of the servers.
func (p *program) onStore(ctx context.Context, cfg *config.Config, use func(*store) error) error {
	p.setLog(cfg, nil)
	cfg.HideSecrets()
	return withStore(ctx, cfg, use)
}

// exitCode prints the error of a command with verbs, and returns its exit code.
func (p *program) exitCode(command string, err error, refusals []error) (code int) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return commandDone
	}
	fmt.Fprintf(p.stderr, "flashsale %s: %v\n", command, err)
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return commandRefused
		}
	}
	return commandFailed
}
