package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/proc"
	"flashsale/internal/testkit"
)

const (
	cutMax = 64 << 10 // bytes: the longest tail that is cut, some 200 orders
	// execute ends each transaction in an append-only file.
	execute = "*1\r\n$4\r\nEXEC\r\n"
)

// orderCommand is the command in an append-only file that makes an order, with its user.
var orderCommand = regexp.MustCompile(`(?s)\*3\r\n\$3\r\nSET\r\n\$\d+\r\no_(\d+)\r\n\$\d+\r\n[^\r]*\r\n`)

// chooseCut chooses an offset in the tail where a crash may have ended the file: inside a command, behind an
// order of an open transaction. A cut elsewhere is easier to survive.
func chooseCut(file []byte, dice *rand.Rand) int {
	tail := len(file) - min(len(file)/4, cutMax)
	orders := orderCommand.FindAllIndex(file[tail:], -1)
	if len(orders) == 0 {
		return len(file)
	}
	return tail + orders[dice.IntN(len(orders))][1] + 1 + dice.IntN(len(execute)-1)
}

// splitOrders returns the users with an order in the first keep bytes, and the users with an order in the
// lost rest. A transaction is all or nothing.
func splitOrders(file []byte, keep int) (survive, lost []string) {
	whole := 0 // the end of the last transaction that is kept
	if last := bytes.LastIndex(file[:keep], []byte(execute)); last >= 0 {
		whole = last + len(execute)
	}
	for _, order := range orderCommand.FindAllSubmatchIndex(file, -1) {
		user := string(file[order[2]:order[3]])
		if order[1] <= whole {
			survive = append(survive, user)
		} else {
			lost = append(lost, user)
		}
	}
	return survive, lost
}

// tailCut makes the file that a power cut may leave, then restarts Redis once more. The drill's own Redis
// refuses such a file (aof-load-truncated no), so the drill repairs it, as an operator would; the server
// must repair the file of its own Redis itself.
func tailCut(ctx context.Context, s *stack, dice *rand.Rand) error {
	s.redis.held.Lock()
	defer s.redis.held.Unlock()
	start, err := s.crash(ctx)
	if err != nil {
		return err
	}
	path, err := s.redis.appendFile()
	if err != nil {
		return err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot cut the append-only file: %w", err)
	}
	keep := chooseCut(file, dice)
	survive, lost := splitOrders(file, keep)
	if err := os.Truncate(path, int64(keep)); err != nil {
		return fmt.Errorf("cannot cut the append-only file: %w", err)
	}
	s.destroyed(len(lost))
	s.note("cut the last %d of %d bytes; %d orders were before the cut, %d in it", len(file)-keep, len(file),
		len(survive), len(lost))
	if s.redis.owner == nil {
		if err := repair(ctx, filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := start(ctx); err != nil {
		return err
	}
	if err := s.demandOrders(ctx, survive); err != nil {
		return err
	}
	if err := s.awaitService(ctx); err != nil {
		return err
	}
	background.Pause(ctx, moment(dice, time.Second)) // orders after the cut
	if start, err = s.crash(ctx); err != nil {
		return err
	}
	return start(ctx)
}

// crash kills Redis, and the server too if that started Redis, as a power cut does. The result starts both
// again.
func (s *stack) crash(ctx context.Context) (start func(context.Context) error, err error) {
	if s.redis.owner == nil {
		s.redis.service.kill()
		return s.redis.start, nil
	}
	pid, err := s.redis.pid()
	if err != nil {
		return nil, err
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // the only error: it has ended
	s.redis.owner.kill()
	start = func(context.Context) error { return s.redis.owner.start() }
	return start, testkit.Await(ctx, "end of redis-server", stopMax, func() bool { return !proc.Alive(pid) })
}

// repair cuts an append-only file back to its last complete transaction.
func repair(ctx context.Context, folder string) error {
	cmd := exec.CommandContext(ctx, "redis-check-aof", "--fix",
		filepath.Join(folder, "appendonly.aof.manifest"))
	cmd.Stdin = strings.NewReader("y\n")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot repair the append-only file: %w; "+
			"apt-get install redis-tools if it is missing\n%s", err, output)
	}
	return nil
}

// demandOrders asks Redis itself whether it has the orders of these users.
func (s *stack) demandOrders(ctx context.Context, users []string) error {
	words := []string{"EXISTS"}
	for _, user := range users {
		words = append(words, "o_"+user)
	}
	found, err := s.redis.number(ctx, words...)
	if err == nil && found != int64(len(users)) {
		err = fmt.Errorf("the cut took more than it held: %d of %d orders from before it are there", found,
			len(users))
	}
	return err
}
