package app

import (
	"io"
	"log/slog"
	"os"

	"flashsale/internal/config"
	"flashsale/internal/supervise"
)

// newLog is the one log of this process. The lines of a worker carry its number and process ID.
func newLog(out io.Writer, format string, worker *supervise.Worker) *slog.Logger {
	var handler slog.Handler = slog.NewTextHandler(out, nil)
	if format == config.LogJSON {
		handler = slog.NewJSONHandler(out, nil)
	}
	log := slog.New(handler)
	if worker != nil {
		log = log.With("worker", worker.Slot, "pid", os.Getpid())
	}
	return log
}
