// Package embedded is the default store of a server that was given no Redis: a private redis-server (or
// valkey-server) child on a unix socket in the data folder, else an in-memory engine inside this process.
//
// It starts the store, keeps it running and ends it; it must not know the sale's keys. It is slow at a
// start on a folder with much data, which redis-server reads before it answers. The in-memory engine is
// slow at every script: it is a last resort.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"

	"flashsale/internal/store/datafolder"
)

// Config is the input of Start.
type Config struct {
	Folder         *datafolder.Folder // locked by the caller, for as long as the store runs
	RequireDurable bool               // no in-memory engine
}

// Store is a running store and how to reach it.
type Store struct {
	Network  string // "unix" or "tcp"
	Address  string // absolute path of the socket, or host:port
	Password string // empty if the store asks for no password
	Name     string // of the program or engine
	Durable  bool   // answered orders survive a power cut

	description string
	run         func(context.Context) error
}

// The programs that can be the store, in order of preference.
var programs = []string{"redis-server", "valkey-server"}

// appendFolder is where redis-server keeps its append-only files.
const appendFolder = "appendonlydir"

// Start starts the first of redis-server and valkey-server found on PATH, or the in-memory engine, and
// returns once it answers. A store with much data may take its time; ctx ends the wait.
func Start(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Folder.LockFile() == nil {
		return nil, errors.New("cannot start store: its data folder is not locked")
	}
	for _, program := range programs {
		if path, err := exec.LookPath(program); err == nil {
			return startServer(ctx, program, path, cfg.Folder)
		}
	}
	if Holds(cfg.Folder) {
		return nil, fmt.Errorf("there is no redis-server on PATH, but %s holds a sale of a redis-server; "+
			"install redis-server to go on with it, or choose another -data",
			cfg.Folder.Path())
	}
	if cfg.RequireDurable {
		return nil, errors.New("-require-durable: there is no redis-server on PATH, and what is kept in memory " +
			"is lost at a restart; install redis-server")
	}
	slog.Warn("no redis-server on PATH: the sale is kept in memory and NOTHING survives a restart; install " +
		"redis-server for a durable sale")
	return startMemory()
}

// Holds reports whether a redis-server has kept data in the folder.
func Holds(folder *datafolder.Folder) bool {
	_, err := os.Stat(folder.File(appendFolder))
	return err == nil
}

// Description is one line for people: which store runs and whether it survives a power cut.
func (s *Store) Description() string { return s.description }

// Run keeps the store running until ctx is done and then ends it. A Durable store keeps everything that
// was answered by then. Cancel ctx only after the last user of the store has stopped.
func (s *Store) Run(ctx context.Context) error { return s.run(ctx) }
