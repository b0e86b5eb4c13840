package app

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"flashsale/internal/config"
	"flashsale/internal/rooms/limits"
)

// unlock is the command that lets a user log in again after too many failed logins.
func unlock(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := config.ParseUnlock(args, p.stdout)
	found := false
	if err == nil {
		err = p.onStore(ctx, cfg.Config, func(store *store) (err error) {
			found, err = limits.Unlock(ctx, store.redis.Room(limits.HashTag), cfg.Name)
			return err
		})
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(p.stderr, "flashsale unlock:", err)
		return 2
	case found:
		fmt.Fprintf(p.stdout, "%s is unlocked: failed logins are counted anew\n", cfg.Name)
	default:
		fmt.Fprintf(p.stdout, "no failed login of %s was counted\n", cfg.Name)
	}
	return 0
}
