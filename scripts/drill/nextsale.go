package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

const (
	commandMax  = time.Minute      // for one run of flashsale sale
	takeOverMax = 20 * time.Second // until every server serves the next sale
	metWorkers  = 10               // connections that ask a server which sale it serves
)

// nextSale ends the sale, which bench audits, and has the next one opened by a command that is killed half
// way. A server that starts completes it, and the one that has run all the time takes the next sale over.
// Then new buyers come, for the rest of the drill.
func nextSale(ctx context.Context, s *stack, dice *rand.Rand) error {
	before, list, err := s.endSale(ctx)
	if err != nil {
		return err
	}
	last := len(s.servers) - 1
	late, early := s.servers[last], s.servers[:last]
	resume := s.probes.rest(late)
	late.stop()
	if err := s.killHalfWay(ctx, before); err != nil {
		return err
	}
	if err := s.awaitRefusals(ctx); err != nil {
		return err
	}
	s.awaitAlert(ctx)
	resume = append(resume, s.probes.rest(early...)...)
	if err := late.start(); err != nil {
		return err
	}
	if err := s.awaitNext(ctx, before); err != nil {
		return err
	}
	for _, one := range resume {
		if err := one(); err != nil {
			return err
		}
	}
	kept, err := s.runSale(ctx, "export", "-sale", before)
	if err != nil {
		return err
	}
	if !slices.Equal(kept, list) {
		s.breaks("%d lines of the sale before are kept, or others than the %d there were", len(kept), len(list))
	}
	s.load, err = startLoad(ctx, s, dice.Uint64()>>32, answerPatient)
	return err
}

// endSale ends the load, which bench audits, closes the sale and exports its orders: the lines of the list.
func (s *stack) endSale(ctx context.Context) (sale string, list []string, err error) {
	rep, err := s.load.finish(ctx)
	if err != nil {
		return "", nil, err
	}
	s.earlier = append(s.earlier, rep)
	if sale, err = s.redis.ask(ctx, "HGET", "sale", "id"); err != nil {
		return "", nil, err
	}
	if _, err := s.runSale(ctx, "close"); err != nil {
		return "", nil, err
	}
	list, err = s.runSale(ctx, "export")
	return sale, list, err
}

// saleCommand is flashsale sale with the settings of the servers, over an address of Redis.
func (s *stack) saleCommand(redis, verb string, more ...string) launch.Program {
	args := append([]string{"sale", verb, "-redis", redis, "-users", fmt.Sprint(users), "-stock",
		fmt.Sprint(stock)}, more...)
	return launch.Program{Path: s.servers[0].program.Path, Args: args, Env: saleEnv,
		Log: filepath.Join(s.folder, "sale.log")}
}

// runSale runs flashsale sale, which must succeed, and returns the lines that it prints, sorted.
func (s *stack) runSale(ctx context.Context, verb string, more ...string) ([]string, error) {
	program := s.saleCommand(s.redis.socket, verb, more...)
	out, err := os.CreateTemp(s.folder, "sale-"+verb)
	if err != nil {
		return nil, fmt.Errorf("cannot run flashsale sale %s: %w", verb, err)
	}
	out.Close()
	program.Stdout = out.Name()
	command, err := program.Start()
	if err != nil {
		return nil, err
	}
	defer command.Kill()
	if err := testkit.Await(ctx, "end of flashsale sale "+verb, commandMax, func() bool {
		return !command.Running()
	}); err != nil {
		return nil, err
	}
	if code := command.State().ExitCode(); code != 0 {
		return nil, fmt.Errorf("flashsale sale %s: exit code %d", verb, code)
	}
	text, err := os.ReadFile(program.Stdout)
	return slices.Sorted(strings.Lines(string(text))), err
}

// killHalfWay kills flashsale sale new when it has moved some orders of the sale before and not all. The
// command reaches Redis through a slow network, so that it takes seconds.
func (s *stack) killHalfWay(ctx context.Context, before string) error {
	network, err := launch.StartProxy("unix", s.redis.socket)
	if err != nil {
		return err
	}
	defer network.Stop()
	network.Set(launch.Slow)
	command, err := s.saleCommand(network.Address(), "new").Start()
	if err != nil {
		return err
	}
	defer command.Kill()
	if err := command.Await(ctx, "order that is moved", startMax, func() bool {
		moved, err := s.redis.try("EXISTS", "past_"+before)
		return err == nil && moved == "1"
	}); err != nil {
		return err
	}
	command.Kill()
	underWay, err := s.redis.number(ctx, "HEXISTS", "sale", "next_id")
	if err != nil {
		return err
	}
	if underWay != 1 {
		return errors.New("the next sale was open before the command was killed: the drill proves nothing")
	}
	left, err := s.redis.number(ctx, "EVAL", "return #redis.call('KEYS', 'o_*')", "0")
	s.note("flashsale sale new was killed with %d orders still to move", left)
	return err
}

// awaitNext returns once every server serves another sale, the same one.
func (s *stack) awaitNext(ctx context.Context, before string) error {
	began := time.Now()
	var next string
	if err := testkit.Await(ctx, "next sale", startMax, func() (opened bool) {
		id, err := s.redis.try("HGET", "sale", "id")
		next = id
		return err == nil && id != before
	}); err != nil {
		return err
	}
	for _, server := range s.servers {
		asking := &client.Client{Address: server.address, Timeout: answerPatient, NewConnections: true}
		if err := testkit.Await(ctx, "next sale of "+server.name, takeOverMax, func() bool {
			return serves(asking, next)
		}); err != nil {
			return err
		}
	}
	s.note("all servers served the next sale %s after the start of the one that completed it",
		seconds(time.Since(began)))
	return nil
}

// serves reports whether all workers of a server serve a sale.
func serves(asking *client.Client, sale string) bool {
	for range metWorkers {
		r, err := asking.Do("GET", "/readyz", "")
		if err != nil || r.Status != 200 || !strings.Contains(r.Body, fmt.Sprintf(`"sale":%q`, sale)) {
			return false
		}
	}
	return true
}
