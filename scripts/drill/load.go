package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	loadRate  = 1000 // flows a second, a fifth of what two processors can do: the drill measures faults, not a full machine
	loadBuyer = 128  // at once
	// What came over before service is back counts too: so many pieces more must be sold by the load afterwards.
	piecesAfter = 100
	piecesFirst = 50 // sold before a fault
	salesMax    = 10 * time.Second
	auditMax    = time.Minute
)

// load is bench at work on the servers of the stack, with the audit when it is stopped.
type load struct {
	proc   *process
	report string // path of its JSON
	log    string
}

// startLoad starts bench. Its open loop goes on until finish. giveUp is when a buyer no longer waits for an answer.
func startLoad(s *stack, seed uint64, giveUp time.Duration) (*load, error) {
	l := &load{report: filepath.Join(s.folder, "bench.json"), log: filepath.Join(s.folder, "bench.log")}
	var addresses []string
	for _, server := range s.servers {
		addresses = append(addresses, server.address)
	}
	cmd := exec.Command(s.programs.bench(), "-addr", strings.Join(addresses, ","), "-json",
		"-seed", strconv.FormatUint(max(seed, 1), 10), "-rate", strconv.Itoa(loadRate), "-concurrency", strconv.Itoa(loadBuyer),
		"-orders", strconv.Itoa(users-reserved), // bench takes the last users first
		"-timeout", giveUp.String(), "-users", strconv.Itoa(users), "-stock", strconv.Itoa(stock))
	cmd.Env = saleEnv()
	output, err := os.Create(l.report)
	if err != nil {
		return nil, fmt.Errorf("cannot start bench: %w", err)
	}
	defer output.Close()
	cmd.Stdout = output
	if l.proc, err = startProcess("bench", cmd, l.log); err != nil {
		return nil, err
	}
	return l, nil
}

// awaitSales waits until so many pieces more are sold, by the list of foods of the last server.
func (s *stack) awaitSales(ctx context.Context, pieces int64) error {
	shopper := s.probes.list[len(s.probes.list)-1].shopper
	before, err := shopper.pieces(ctx)
	if err != nil {
		return err
	}
	return await(ctx, fmt.Sprintf("sale of %d pieces", pieces), salesMax, func() bool {
		left, err := shopper.pieces(ctx)
		return err == nil && before-left >= pieces
	})
}

// benchReport is what bench -json prints, as far as a drill needs it.
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

// finish ends the load and returns what bench reports after its audit.
func (l *load) finish(ctx context.Context) (*benchReport, error) {
	if !l.proc.running() {
		return nil, fmt.Errorf("bench ended before the drill did: %v", l.proc.cmd.ProcessState)
	}
	_ = l.proc.cmd.Process.Signal(syscall.SIGINT) // the only error is that it has ended just now
	if err := await(ctx, "end of bench", auditMax, func() bool { return !l.proc.running() }); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(l.report)
	if err != nil {
		return nil, fmt.Errorf("cannot read the report of bench: %w", err)
	}
	rep := &benchReport{}
	if err := json.Unmarshal(text, rep); err != nil {
		return nil, fmt.Errorf("cannot read the report of bench (%v): %w", l.proc.cmd.ProcessState, err)
	}
	if len(rep.Audit) == 0 {
		return nil, fmt.Errorf("bench made no audit (%v)", l.proc.cmd.ProcessState)
	}
	return rep, nil
}
