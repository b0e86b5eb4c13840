package main

import (
	"context"
	"flag"
	"io"

	"flashsale/scripts/bench/repeats"
)

// repeatsTask is bench repeats.
type repeatsTask struct {
	opt repeats.Options
}

func (t *repeatsTask) register(fs *flag.FlagSet) { t.opt.Register(fs) }

func (t *repeatsTask) resolve(string, map[string]bool, func() string) error { return t.opt.Check() }

func (t *repeatsTask) run(ctx context.Context, stdout, _ io.Writer) error {
	return repeats.Run(ctx, t.opt, stdout)
}
