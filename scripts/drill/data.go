package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/proc"
	"flashsale/internal/testkit"
)

// Faults of the data of Redis.

func memoryFull(ctx context.Context, s *stack, dice *rand.Rand) error {
	used, err := s.redis.usedMemory(ctx)
	if err != nil {
		return err
	}
	room := dice.Int64N(100 << 10) // the load itself must reach the limit
	if _, err := s.redis.ask(ctx, "CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory",
		strconv.FormatInt(used+room, 10)); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	background.Pause(ctx, s.lasting(2*time.Second, 10*time.Second))
	s.awaitAlert(ctx)
	_, err = s.redis.ask(ctx, "CONFIG", "SET", "maxmemory", "0")
	return err
}

func diskFull(ctx context.Context, s *stack, _ *rand.Rand) error {
	if err := s.disk.fill(); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	// Enough for a few restarts of a Redis that ends.
	background.Pause(ctx, s.lasting(4*time.Second, 10*time.Second))
	s.awaitAlert(ctx)
	return s.disk.free()
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
	history, err := readOrders(file)
	if err != nil {
		return err
	}
	keep := history.chooseCut(dice)
	survive, lost := history.split(keep)
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

// saleKeys is a script that counts the keys of a sale: an empty Redis soon has keys of statistics.
const saleKeys = "return #redis.call('KEYS', '[cos]*_*') + redis.call('EXISTS', 'sale')"

func redisEmptied(ctx context.Context, s *stack, dice *rand.Rand) error {
	s.redis.held.Lock()
	defer s.redis.held.Unlock()
	data := filepath.Join(s.redis.folder, "appendonlydir")
	if err := s.restartWith(ctx, func() error { return os.Rename(data, data+".away") }); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	end := time.After(s.lasting(time.Second, 5*time.Second) + moment(dice, time.Second))
	for empty := true; empty; {
		keys, err := s.redis.number(ctx, "EVAL", saleKeys, "0")
		if err != nil {
			return err
		}
		if keys != 0 {
			return fmt.Errorf("an empty Redis got %d keys of a sale from a server of another sale", keys)
		}
		select {
		case <-end:
			empty = false
		case <-time.After(probePace):
		}
	}
	s.awaitAlert(ctx)
	return s.restartWith(ctx, func() error {
		return errors.Join(os.RemoveAll(data), os.Rename(data+".away", data))
	})
}

// restartWith kills Redis, changes its data and starts it again.
func (s *stack) restartWith(ctx context.Context, change func() error) error {
	if err := s.redis.kill(); err != nil {
		return err
	}
	if err := change(); err != nil {
		return fmt.Errorf("cannot exchange the data of Redis: %w", err)
	}
	return s.redis.start(ctx)
}

func scriptsFlushed(ctx context.Context, s *stack, dice *rand.Rand) error {
	for range s.times(20, 100) {
		if _, err := s.redis.ask(ctx, "SCRIPT", "FLUSH"); err != nil {
			return err
		}
		background.Pause(ctx, moment(dice, 200*time.Millisecond))
	}
	return nil
}
