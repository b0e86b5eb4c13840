package supervise

import (
	"os"
	"os/signal"
	"syscall"
)

// Attached says whether closing a terminal ends this process: it has one, and nohup is not in between. The SIGHUP that
// comes then is told from one that asks for other workers by the terminal that is gone. To be asked before SIGHUP is
// caught.
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
