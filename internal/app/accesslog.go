package app

import (
	"io"
	"log/slog"

	"flashsale/internal/config"
	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/supervise"
)

// newAccessLog makes the access log of a worker, nil where it is off. Its lines have the form of the log and
// go to the same place, but not through its queue: there they would drive out lines that matter more.
func (p *program) newAccessLog(
	cfg *config.Config, inherited *supervise.Worker, count *figures.Worker,
) *accesslog.Log {
	if cfg.AccessLog == 0 {
		return nil
	}
	return accesslog.New(accesslog.Config{
		Every: cfg.AccessLog, Out: p.stderr, Dropped: &count.LogLinesDropped,
		NewLogger: func(out io.Writer) *slog.Logger { return newLog(out, cfg.LogFormat, inherited) },
	})
}
