package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/store/child"
	"flashsale/internal/store/datafolder"
)

const (
	socketName = "redis.sock"
	logName    = "redis.log"
	// The words of redis-server for an append-only file that seems to end in the middle of a write.
	truncatedFile = "Unexpected end of file reading the append only file"
	// sockaddr_un has 108 bytes for the path and its closing zero (man 7 unix).
	socketPathMost = 107

	answerPoll = 10 * time.Millisecond
	// A server that reads much data is logged once after this time, so that the start does not look hung.
	slowStart = 3 * time.Second
	// A server that does not end by itself in this time is killed. That loses nothing: everything
	// answered is on disk.
	stopLimit = 10 * time.Second
)

// Socket is the path in the folder of the socket on which the redis-server of Start answers.
func Socket(folder *datafolder.Folder) string { return folder.File(socketName) }

// server is the redis-server child. Only the goroutine in startServer, and later the one in run, uses it.
type server struct {
	name    string
	program string // path of the binary
	folder  *datafolder.Folder
	socket  string

	cmd      *exec.Cmd
	started  time.Time
	logStart int64         // where in its log cmd began
	ended    chan struct{} // closed when cmd has ended
}

func startServer(ctx context.Context, name, program string, folder *datafolder.Folder) (*Store, error) {
	socket := Socket(folder)
	if len(socket) > socketPathMost {
		return nil, fmt.Errorf("cannot start %s: the path of its socket, %s, has %d bytes and the limit is %d; "+
			"choose a shorter -data",
			name, socket, len(socket), socketPathMost)
	}
	s := &server{name: name, program: program, folder: folder, socket: socket}
	if err := s.startRepaired(ctx); err != nil {
		return nil, err
	}
	return &Store{
		Network:     "unix",
		Address:     socket,
		Name:        name,
		Durable:     true,
		description: fmt.Sprintf("private %s in %s: what was answered survives a power cut", name, folder.Path()),
		run:         s.run,
	}, nil
}

// startRepaired starts the child and, where it does not because a crash has cut its append-only file off
// in the middle of a write, once more without that end.
func (s *server) startRepaired(ctx context.Context) error {
	err := s.start(ctx)
	if err == nil || !strings.Contains(err.Error(), truncatedFile) {
		return err
	}
	if repairErr := s.repair(ctx); repairErr != nil {
		return errors.Join(err, repairErr)
	}
	return s.start(ctx)
}

// start starts the child and waits until it answers.
func (s *server) start(ctx context.Context) error {
	s.started = time.Now()
	path := s.log()
	log, err := s.folder.OpenFile(logName, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("cannot open log of %s: %w", s.name, err)
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return fmt.Errorf("cannot open log of %s: %w", s.name, err)
	}

	cmd := exec.Command(s.program,
		"--port", "0", "--unixsocket", s.socket, "--unixsocketperm", "700",
		"--dir", s.folder.Path(), "--appendonly", "yes", "--appendfsync", "always", "--save", "",
		// "yes" would keep half a transaction, and the next start would join it to another one.
		"--aof-load-truncated", "no",
		"--daemonize", "no", "--logfile", path)
	// Its messages from before it has read its settings go to the same log.
	cmd.Stdout, cmd.Stderr = log, log
	// The child holds the folder's lock too: after a kill -9 of this process the next one must not start
	// a second server on the same files while this one is still closing them.
	cmd.ExtraFiles = []*os.File{s.folder.LockFile()}
	if err := child.StartBatch(cmd, syscall.SIGTERM); err != nil {
		return fmt.Errorf("cannot start %s: %w", s.name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its status is in cmd.ProcessState
		close(ended)
	}()
	s.cmd, s.ended, s.logStart = cmd, ended, before.Size()
	return s.awaitAnswer(ctx)
}

func (s *server) log() string { return s.folder.File(logName) }

// awaitAnswer returns once the child serves commands. There is no limit to the wait while the child
// lives: it may have any amount of data to read.
func (s *server) awaitAnswer(ctx context.Context) error {
	slow := time.After(slowStart)
	poll := time.NewTicker(answerPoll)
	defer poll.Stop()
	for {
		if answers(s.socket) {
			return nil
		}
		select {
		case <-ctx.Done():
			s.stop()
			return fmt.Errorf("cannot start %s: %w", s.name, ctx.Err())
		case <-s.ended:
			return fmt.Errorf("%s ended before it answered (%s); the end of its log %s: %s",
				s.name, s.cmd.ProcessState, s.log(), lastLines(s.log(), s.logStart))
		case <-slow:
			slog.Info("store is still reading its data", "store", s.name, "log", s.log())
		case <-poll.C:
		}
	}
}

// run restarts the child whenever it ends, until ctx is done.
func (s *server) run(ctx context.Context) error {
	var backoff child.Backoff
	for {
		select {
		case <-ctx.Done():
		case <-s.ended:
		}
		if ctx.Err() != nil {
			s.stop()
			return nil
		}
		delay := backoff.After(time.Since(s.started))
		slog.Error("store ended and is started again", "store", s.name, "status", s.cmd.ProcessState.String(),
			"delay", delay, "log", s.log(), "its_end", lastLines(s.log(), s.logStart))
		if !background.Pause(ctx, delay) {
			return nil
		}
		if err := s.startRepaired(ctx); err == nil {
			slog.Info("store answers again", "store", s.name)
		} else if ctx.Err() == nil {
			slog.Error("store did not start again", "error", err)
		}
	}
}

func (s *server) stop() {
	if child.Finish(s.cmd.Process, s.ended, syscall.SIGTERM, stopLimit) {
		slog.Warn("store did not end by itself and was killed", "store", s.name, "limit", stopLimit)
	}
}

const (
	pingLimit    = time.Second
	logTailLines = 5
	logTailBytes = 4096
)

// answers reports whether the server behind the unix socket serves commands. One that still reads its
// data accepts connections already, but answers -LOADING.
func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, pingLimit)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(pingLimit)); err != nil {
		return false
	}
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n"); err != nil {
		return false
	}
	// The reader's buffer, 4 KiB, bounds the line.
	line, err := bufio.NewReader(conn).ReadSlice('\n')
	return err == nil && string(line) == "+PONG\r\n"
}

// lastLines returns the end of the log as one line, without the part before the offset start.
func lastLines(path string, start int64) string {
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err.Error()
	}
	start = max(start, info.Size()-logTailBytes)
	text, err := io.ReadAll(io.NewSectionReader(log, start, logTailBytes))
	if err != nil {
		return err.Error()
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	lines = lines[max(0, len(lines)-logTailLines):]
	return strings.Join(lines, " | ")
}
