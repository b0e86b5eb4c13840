package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"flashsale/internal/proc"
)

const (
	askTimeout = time.Second      // for one command of the drill itself
	askMax     = 15 * time.Second // a fault of a pair may be in its way so long
)

// redis is the Redis of a stack: a redis-server that the drill keeps, or the one that the server started itself.
type redis struct {
	socket  string
	folder  string   // its data
	owner   *server  // whose own it is; nil: the drill's
	service *service // nil when it is a server's own

	held sync.Mutex // by a fault that takes it down or touches its data, so that two of a pair take turns
}

// startRedis starts a redis-server on a folder; its socket lies beside that.
func startRedis(ctx context.Context, folder, log string, c setup) (*redis, error) {
	r := &redis{folder: folder, socket: folder + ".sock"}
	fsync := "always"
	if c.everysec {
		fsync = "everysec"
	}
	args := []string{"--port", "0", "--unixsocket", r.socket, "--dir", folder, "--save", "",
		"--appendonly", "yes", "--appendfsync", fsync, "--aof-load-truncated", "no", "--daemonize", "no"}
	r.service = &service{name: "redis-server", log: log, command: func() *exec.Cmd {
		// A file that reaches a size limit must give an error, as a full disk does, not a signal.
		return exec.Command("sh", append([]string{"-c", `trap "" XFSZ; exec redis-server "$@"`, "sh"}, args...)...)
	}}
	return r, r.start(ctx)
}

// start starts the drill's redis-server and returns once it answers.
func (r *redis) start(ctx context.Context) error {
	if err := r.service.start(); err != nil {
		return err
	}
	return await(ctx, "answer of redis-server", startMax, func() bool {
		_, err := r.try("PING")
		return err == nil
	})
}

// kill kills the redis-server. The drill's own stays down until start; that of a server is started again by it.
func (r *redis) kill() error {
	if r.owner == nil {
		r.service.kill()
		return nil
	}
	return r.signal(syscall.SIGKILL)
}

// pid is the process that is the Redis now.
func (r *redis) pid() (int, error) {
	if r.owner != nil {
		pids, err := proc.Children(r.owner.pid(), "redis-server")
		if err != nil {
			return 0, err
		}
		if len(pids) > 0 {
			return pids[0], nil
		}
		return 0, errors.New("cannot find the server's own redis-server: it has ended")
	}
	return r.service.pid(), nil
}

func (r *redis) signal(s syscall.Signal) error {
	pid, err := r.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send %v to redis-server: %w", s, err)
	}
	return nil
}

// ask sends a command until it is answered: another fault may be in its way.
func (r *redis) ask(ctx context.Context, words ...string) (reply string, err error) {
	waited := await(ctx, "answer of Redis to "+words[0], askMax, func() bool {
		reply, err = r.try(words...)
		return err == nil
	})
	if waited != nil {
		return "", errors.Join(waited, err)
	}
	return reply, nil
}

// number is ask for a reply that is a number.
func (r *redis) number(ctx context.Context, words ...string) (int64, error) {
	reply, err := r.ask(ctx, words...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(reply, 10, 64)
}

// try sends one command on a connection of its own. An error reply is an error.
func (r *redis) try(words ...string) (string, error) {
	c, err := net.DialTimeout("unix", r.socket, askTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return "", err
	}
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c, request.String()); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(c))
}

// readReply reads a reply that is one status, number or text.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("cannot read a reply of Redis: empty line")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New("Redis refuses: " + rest)
	case '$':
		length, err := strconv.Atoi(rest)
		if err != nil || length < 0 {
			return "", fmt.Errorf("cannot read a reply of Redis: %q", line)
		}
		text := make([]byte, length)
		_, err = io.ReadFull(r, text)
		return string(text), err
	}
	return "", fmt.Errorf("cannot read a reply of Redis: %q", line)
}

// appendFile is the file to which orders are being added.
func (r *redis) appendFile() (string, error) {
	files, err := filepath.Glob(filepath.Join(r.folder, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("cannot find the append-only file in %s: %d files, %w", r.folder, len(files), errors.Join(err, os.ErrNotExist))
	}
	return files[0], nil
}

// usedMemory is what the data and the connections take, in bytes.
func (r *redis) usedMemory(ctx context.Context) (int64, error) {
	info, err := r.ask(ctx, "INFO", "memory")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(line, "used_memory:"); found {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, errors.New("cannot read the memory of Redis: INFO has no used_memory")
}
