package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"flashsale/internal/supervise"
)

const (
	withTestRoom = "TEST_ROOM"   // set where the test binary is the server, with testRoom
	startsFile   = "TEST_STARTS" // the file in which idle workers write that they have started
)

// The test binary itself is the server with a room more, and the worker of the tests in which a worker need
// not serve.
func TestMain(m *testing.M) {
	if os.Getenv(withTestRoom) != "" {
		rooms = append(rooms, testRoom)
		os.Exit(Main(context.Background(), os.Args, os.Stdout, os.Stderr))
	}
	worker, err := supervise.Inherited()
	if err == nil && worker != nil {
		err = idle(worker)
	}
	if err != nil || worker != nil {
		fmt.Fprintln(os.Stderr, "test worker:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// idle is a worker that ends with its first signal.
func idle(w *supervise.Worker) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	file, err := os.OpenFile(os.Getenv(startsFile), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		return err
	}
	if err := w.Ready(); err != nil {
		return err
	}
	<-signals
	os.Exit(0)
	return nil
}
