package supervise

import (
	"os"
	"os/signal"
	"syscall"
)

// Attached reports whether closing a terminal ends this process: it has a terminal and ignores no SIGHUP
// (nohup). After a SIGHUP the terminal may be gone: then its end was the reason, not a request for new
// workers. The first call must come before SIGHUP is caught.
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
