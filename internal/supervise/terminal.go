package supervise

import (
	"os"
	"os/signal"
	"syscall"
)

// Attached reports whether closing a terminal ends this process: it has one, and nohup is not in between.
// After a SIGHUP it tells the end of the terminal, which is gone then, from a request for new workers.
// The first call must come before SIGHUP is caught.
func Attached() bool {
	if signal.Ignored(syscall.SIGHUP) {
		return false
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		terminal.Close()
	}
	return err == nil
}
