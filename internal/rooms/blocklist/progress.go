package blocklist

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"flashsale/internal/background"
)

const (
	barEvery = 200 * time.Millisecond
	logEvery = 10 * time.Second
)

// counted counts the bytes that are read.
type counted struct {
	io.Reader
	bytes atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// progress shows how far an import is until ctx ends: a bar with rows per second and the time that is left
// on a terminal, log lines elsewhere. total is the length of the packed list, -1 where it is not known.
func progress(ctx context.Context, out *os.File, total int64, read, rows func() int64) {
	every, show := logEvery, logProgress
	if out != nil && term.IsTerminal(int(out.Fd())) {
		bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(out),
			progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish())
		defer func() { _ = bar.Clear() }()
		every, show = barEvery, func(read, _, rows int64, took time.Duration) {
			bar.Describe(fmt.Sprintf("blocklist, %.1f M rows/s", perSecond(rows, took)/1e6))
			_ = bar.Set64(read) // a terminal gone away must not end the import
		}
	}
	start := time.Now()
	background.Every(ctx, every, func() { show(read(), total, rows(), time.Since(start)) })
}

func logProgress(read, total, rows int64, took time.Duration) {
	values := []any{"rows", rows, "rows_per_second", int64(perSecond(rows, took)), "bytes", read}
	if total > 0 && read > 0 {
		left := time.Duration(float64(took) * float64(total-read) / float64(read))
		values = append(values, "percent", 100*read/total, "left", left.Round(time.Second).String())
	}
	slog.Info("the blocklist is being imported", values...)
}

func perSecond(n int64, took time.Duration) float64 { return float64(n) / max(took.Seconds(), 1e-3) }
