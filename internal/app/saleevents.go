package app

import (
	"context"
	"fmt"

	"flashsale/internal/background"
	"flashsale/internal/rooms/events"
	"flashsale/redisx"
)

// printEvents prints the events of the sale as lines of JSON, and at the end the cursor behind them.
func (c *saleCommand) printEvents(ctx context.Context, marker *redisx.Marker) (err error) {
	streams := events.Join(c.store.redis, marker.Sale)
	reader := events.NewReader(streams)
	next := c.cfg.After
	background.Beside(streams.Run, func() {
		if err = awaitRoom(ctx, streams.Up, startWait); err != nil {
			return
		}
		if !c.cfg.Follow {
			next, err = c.printPages(reader, next)
			return
		}
		background.Beside(reader.Run, func() {
			stop := context.AfterFunc(ctx, reader.End)
			defer stop()
			for err == nil && ctx.Err() == nil {
				next, err = c.printPages(reader, next)
			}
		})
	})
	fmt.Fprintln(c.stderr, "next:", next)
	return err
}

// printPages prints events until there is none, and returns the cursor behind them.
func (c *saleCommand) printPages(reader *events.Reader, after string) (next string, err error) {
	wait := events.WaitMax
	if !c.cfg.Follow {
		wait = 0
	}
	for next = after; ; {
		page, err := reader.Read(next, wait, events.LimitMax)
		if err != nil {
			return next, err
		}
		next = page.Next
		if len(page.Events) == 0 {
			return next, nil
		}
		for _, e := range page.Events {
			fmt.Fprintf(c.stdout, "%s\n", e.Body)
		}
	}
}
