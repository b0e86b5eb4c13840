package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

const (
	askTimeout = time.Second // for one command of the drill itself
	askMax     = time.Minute // a fault of a pair may delay it that long
)

// redis is the Redis of a stack: a redis-server that the drill keeps, or the one that the server started
// itself.
type redis struct {
	socket  string
	folder  string   // its data
	owner   *server  // the server that started it; nil: the drill
	service *service // nil when it is a server's own

	held sync.Mutex // by a fault that stops Redis or changes its data: two faults of a pair take turns
}

// startRedis starts a redis-server on a folder; its socket and its log lie beside that, as the folder may be
// a full disk.
func startRedis(ctx context.Context, folder string, c setup) (*redis, error) {
	r := &redis{folder: folder, socket: folder + ".sock"}
	fsync := "always"
	if c.everysec {
		fsync = "everysec"
	}
	program := launch.NewRedis(folder, "--unixsocket", r.socket, "--appendonly", "yes", "--appendfsync", fsync,
		"--aof-load-truncated", "no").Program
	program.Log = folder + ".log"
	r.service = &service{program: program}
	return r, r.start(ctx)
}

// start starts the drill's redis-server and returns once it answers.
func (r *redis) start(ctx context.Context) error {
	if err := r.service.start(); err != nil {
		return err
	}
	return testkit.Await(ctx, "answer of redis-server", startMax, func() bool {
		_, err := r.try("PING")
		return err == nil
	})
}

// kill kills the redis-server. The drill's own stays down until start; a server starts its own again by
// itself.
func (r *redis) kill() error {
	if r.owner == nil {
		r.service.kill()
		return nil
	}
	return r.signal(syscall.SIGKILL)
}

// pid is the present process of Redis.
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

// freeze stops Redis for a time without ending it.
func (r *redis) freeze(ctx context.Context, lasting time.Duration) error {
	r.held.Lock()
	defer r.held.Unlock()
	if err := r.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	background.Pause(ctx, lasting)
	return r.signal(syscall.SIGCONT)
}

// ask sends a command until Redis answers: another fault may be under way.
func (r *redis) ask(ctx context.Context, words ...string) (reply string, err error) {
	waited := testkit.Await(ctx, "answer of Redis to "+words[0], askMax, func() bool {
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
	return launch.AskRedis(r.socket, askTimeout, words...)
}

// appendFile is the file to which orders are being added.
func (r *redis) appendFile() (string, error) {
	files, err := filepath.Glob(filepath.Join(r.folder, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("cannot find the append-only file in %s: %d files, %w", r.folder, len(files),
			errors.Join(err, os.ErrNotExist))
	}
	return files[0], nil
}
