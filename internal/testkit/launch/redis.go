package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const redisAskMax = time.Second // for one command while redis-server starts

// Redis is a private redis-server on a unix socket, its only address.
type Redis struct {
	Socket  string
	Program Program
	*Process
}

// NewRedis describes a redis-server with its data, its socket and its log in a folder, which must have a
// short path. It keeps nothing on disk, unless args change that; they are added to its command line.
func NewRedis(folder string, args ...string) *Redis {
	socket := filepath.Join(folder, "s")
	plain := []string{"--port", "0", "--unixsocket", socket, "--dir", folder,
		"--save", "", "--appendonly", "no"}
	program := Program{Path: "redis-server", Args: append(plain, args...), Log: filepath.Join(folder, "log")}
	return &Redis{Socket: socket, Program: program}
}

// Start starts the server, the first time or again, and returns when it answers.
func (r *Redis) Start(ctx context.Context) (err error) {
	if r.Process, err = r.Program.Start(); err != nil {
		return err
	}
	return r.Await(ctx, "answer of redis-server", startMax, func() bool {
		_, err := AskRedis(r.Socket, redisAskMax, "PING")
		return err == nil
	})
}

// AskRedis sends one command on a connection of its own and returns the reply, which must be a status, a
// number or a text. An error reply is an error.
func AskRedis(socket string, timeout time.Duration, words ...string) (reply string, err error) {
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	err = exchange(socket, timeout, request.String(), func(r *bufio.Reader) error {
		reply, err = readReply(r)
		return err
	})
	return reply, err
}

// InlineRedis sends one command as a person would type it, on a connection of its own, and returns the first
// line of the reply with its kind, as "+OK" or ":3".
func InlineRedis(socket string, timeout time.Duration, command string) (line string, err error) {
	err = exchange(socket, timeout, command+"\r\n", func(r *bufio.Reader) error {
		line, err = r.ReadString('\n')
		return err
	})
	return strings.TrimSuffix(line, "\r\n"), err
}

// exchange sends a request and reads its reply.
func exchange(socket string, timeout time.Duration, request string, read func(*bufio.Reader) error) error {
	c, err := net.DialTimeout("unix", socket, timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	return read(bufio.NewReader(c))
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
