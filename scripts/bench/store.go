package main

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"

	"flashsale/internal/child"
)

// startStore starts a redis-server of its own in the folder, in the way in which the server starts its default store, and
// returns what the server's -redis says of it.
func startStore(ctx context.Context, kind storeKind, folder string) (*daemon, string, error) {
	network, address := "unix", filepath.Join(folder, "redis.sock")
	args := []string{"--dir", folder, "--save", "", "--daemonize", "no"}
	if kind == storeTCP {
		port, err := freePort()
		if err != nil {
			return nil, "", err
		}
		network, address = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		args = append(args, "--bind", "127.0.0.1", "--port", strconv.Itoa(port))
	} else {
		args = append(args, "--port", "0", "--unixsocket", address)
	}
	switch kind {
	case storeAlways, storeEverysec:
		args = append(args, "--appendonly", "yes", "--appendfsync", string(kind))
	default:
		args = append(args, "--appendonly", "no")
	}
	d, err := startDaemon(ctx, "redis-server", exec.Command("redis-server", args...), child.StartBatch, folder, func() bool {
		conn, err := net.Dial(network, address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	return d, address, err
}
