package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

const (
	// flows a second, a fifth of what two processors can do: the drill measures faults, not a full machine
	loadRate      = 1000
	clusterRate   = 400 // more programs share the processors
	holdRate      = 100 // the drill has buyers of its own
	buyersDefault = 128 // at once
	// The load must sell that many more pieces once service is back.
	piecesAfter = 100
	piecesFirst = 50 // sold before a fault
	salesMax    = time.Minute
	auditMax    = 2 * time.Minute
)

// benchSource is the package of the buyers.
const benchSource = "flashsale/scripts/bench"

// load is a run of bench on the servers of the stack; its end is followed by the audit.
type load struct{ run *launch.Process }

// startLoad starts bench. Its open loop goes on until finish. A buyer waits for an answer until giveUp.
func startLoad(ctx context.Context, s *stack, seed uint64, giveUp time.Duration) (*load, error) {
	path, err := launch.Build(ctx, benchSource)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, server := range s.servers {
		addresses = append(addresses, server.address)
	}
	rate := loadRate
	if s.setup.masters > 0 || s.setup.talk != "" {
		rate = clusterRate
	}
	free := users - reserved
	if s.setup.hold {
		free -= s.heldOrders
		rate = min(holdRate, free/int(s.setup.turnMax(s.heldOrders)/time.Second)) // the users last for the turn
	}
	args := []string{"-addr", strings.Join(addresses, ","), "-json",
		"-seed", strconv.FormatUint(max(seed, 1), 10), "-rate", strconv.Itoa(rate),
		// bench takes the last users first
		"-concurrency", strconv.Itoa(s.setup.buyers), "-orders", strconv.Itoa(free),
		"-timeout", giveUp.String(), "-users", strconv.Itoa(users), "-stock", strconv.Itoa(s.setup.stock)}
	if s.setup.tls {
		args = append(args, "-tls", "-tls-ca", s.servers[0].chain)
	}
	run, err := launch.Program{Path: path, Args: args, Env: saleEnv,
		Stdout: filepath.Join(s.folder, "bench.json"), Log: filepath.Join(s.folder, "bench.log")}.Start()
	return &load{run}, err
}

// lister is a user who reads the list of foods of the last server.
func (s *stack) lister() (*shopper, error) {
	one := s.servers[len(s.servers)-1].shopper(lister)
	return one, one.login()
}

// awaitSales waits until the list of foods of the last server shows this number of further pieces sold.
func (s *stack) awaitSales(ctx context.Context, pieces int64) error {
	shopper, err := s.lister()
	if err != nil {
		return err
	}
	before, err := shopper.pieces()
	if err != nil {
		return err
	}
	return testkit.Await(ctx, fmt.Sprintf("sale of %d pieces", pieces), salesMax, func() bool {
		left, err := shopper.pieces()
		return err == nil && before-left >= pieces
	})
}

// benchReport is the part of bench -json that a drill needs.
type benchReport struct {
	Load struct {
		Placed  int
		Unknown int
		Latency []struct {
			Step string
			Max  int64 `json:"max_us"`
		}
		Refusals []eventCount
		Faults   []eventCount `json:"transport_errors"`
	}
	Audit []struct {
		Name       string
		Violations int
		Examples   []string
	}
}

// eventCount is how often bench met a refusal, by its code, or a fault in transport, by its kind.
type eventCount struct {
	Step, Name string
	Count      int
}

// finish ends the load and returns the report of bench after its audit.
func (l *load) finish(ctx context.Context) (*benchReport, error) {
	if !l.run.Running() {
		return nil, fmt.Errorf("bench ended before the drill did: %v", l.run.State())
	}
	if err := l.run.Signal(syscall.SIGINT); err != nil {
		return nil, err
	}
	if err := testkit.Await(ctx, "end of bench", auditMax, func() bool {
		return !l.run.Running()
	}); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(l.run.Stdout)
	if err != nil {
		return nil, fmt.Errorf("cannot read the report of bench: %w", err)
	}
	rep := &benchReport{}
	if err := json.Unmarshal(text, rep); err != nil {
		return nil, fmt.Errorf("cannot read the report of bench (%v): %w", l.run.State(), err)
	}
	if len(rep.Audit) == 0 {
		return nil, fmt.Errorf("bench made no audit (%v)", l.run.State())
	}
	return rep, nil
}
