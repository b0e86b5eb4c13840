package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

const (
	clockAhead = 2 * time.Second
	clockShown = clockAhead - 100*time.Millisecond // what a server on a busy machine finds at least
)

// clockLibrary is the source of a library that gives a program a clock that can jump.
//
//go:embed preload/clock.c
var clockLibrary string

// giveClock starts a master again, with a clock that can jump.
func (s *stack) giveClock(ctx context.Context, master *launch.ClusterNode) (err error) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		return fmt.Errorf("%w: the clock of a master needs a C compiler: %w", errImpossible, err)
	}
	library := filepath.Join(s.folder, "clock.so")
	build := exec.CommandContext(ctx, compiler, "-shared", "-fPIC", "-O2", "-o", library, "-x", "c", "-")
	build.Stdin = strings.NewReader(clockLibrary)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the clock of a master: %w\n%s", err, output)
	}
	if s.clock, err = launch.NewClock(s.folder); err != nil {
		return err
	}
	master.Kill()
	master.Redis.Program.Env = append(s.clock.Env(), "LD_PRELOAD="+library)
	if err := master.Start(ctx); err != nil {
		return err
	}
	return s.cluster.AwaitReady(ctx, 0)
}

// clocksDiffer sets the clock of one master ahead, and later right. The sale goes on, but cannot be
// scheduled.
func clocksDiffer(ctx context.Context, s *stack, _ *rand.Rand) error {
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	if err := s.clock.Jump(clockAhead); err != nil {
		return err
	}
	s.stand(ctx, 3*time.Second)
	if err := s.demandSkewNamed(ctx); err != nil {
		return err
	}
	for _, state := range []string{"paused", "closed", "scheduled", "open"} {
		if state != "scheduled" {
			if err := s.changeState(ctx, root, state); err != nil {
				return err
			}
			continue
		}
		opens := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		err := root.Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":"scheduled","opens_at":%q}`, opens), nil)
		if !client.IsRefused(err, http.StatusConflict, "SALE_CLOCKS_DIFFER") {
			s.breaks("a schedule was not refused because of the clocks: %v", err)
		}
	}
	background.Pause(ctx, s.lasting(2*time.Second, 10*time.Second))
	if err := s.clock.Jump(0); err != nil {
		return err
	}
	for _, state := range []string{"paused", "closed", "scheduled"} {
		if err := s.changeState(ctx, root, state); err != nil {
			return err
		}
	}
	return nil
}

// skewShown is what "flashsale sale status" shows of the clocks.
var skewShown = regexp.MustCompile(`clocks (\S+) apart`)

// demandSkewNamed demands that the log of each server and "flashsale sale status" name the clocks.
func (s *stack) demandSkewNamed(ctx context.Context) error {
	for i, one := range s.servers {
		text, err := os.ReadFile(one.program.Log)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "the clocks of the Redis masters differ") {
			s.breaks("%s does not log that the clocks differ", serverName(i+1))
		}
	}
	status := exec.CommandContext(ctx, s.servers[0].program.Path, "sale", "status", "-redis-cluster",
		s.cluster.Seeds(), "-stock", fmt.Sprint(s.setup.stock))
	text, err := status.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot ask for the status of the sale: %w\n%s", err, text)
	}
	found := skewShown.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("the status of the sale does not show the clocks:\n%s", text)
	}
	if by, err := time.ParseDuration(string(found[1])); err != nil || by < clockShown {
		s.breaks("the status of the sale shows clocks %s apart, want %s", found[1], clockAhead)
	}
	return nil
}
