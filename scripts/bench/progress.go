package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const progressInterval = 200 * time.Millisecond

// showProgress draws a bar of the ended flows while the load runs, if out is a terminal; call its result to
// end that. It polls a counter, so the buyers never wait for the terminal.
func showProgress(out io.Writer, total int, ended func() int64) (stop func()) {
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return func() {}
	}
	bar := progressbar.NewOptions(total, progressbar.OptionSetWriter(file),
		progressbar.OptionSetDescription("orders"),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish())
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = bar.Set64(ended()) // a lost terminal must not end the load
			case <-done:
				_ = bar.Clear()
				return
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}
