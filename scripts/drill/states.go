package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// stateDrills change the sale, and break what stands beside it.
var stateDrills = []drill{
	{name: "states", quiet: noFault,
		says:  "root pauses, closes, schedules, opens and restocks the sale while buyers order",
		setup: one, run: statesChange},
	{name: "released-beside", quiet: noFault,
		says:  "the last released version serves beside this one, while root changes the sale",
		setup: setup{servers: 2, released: true}, run: statesChange},
	{name: "alerts", quiet: "each of its faults has one of its own",
		says:  "whatever no other drill has an alert for: rooms that fail, a crowd, buyers who stay away",
		setup: setup{servers: 1, asides: true}, noticed: mayDrop | mayHang, run: alertsFire},
}

const restockMost = 20 // pieces that root adds or takes back at once

// statesChange pauses, closes, schedules and opens the sale, and adds and takes back stock, as root, while
// buyers order. The audit of bench counts the restocked pieces.
func statesChange(ctx context.Context, s *stack, dice *rand.Rand) error {
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	changes := s.times(20, 100)
	for change := range changes {
		state := []string{"paused", "closed", "scheduled", "open"}[change%4]
		if err := s.changeState(ctx, root, state); err != nil {
			return err
		}
		root.IdempotencyKey = fmt.Sprintf("drill-%d", change)
		path := fmt.Sprintf("/admin/foods/%d/stock", 1+dice.IntN(foods))
		pieces := 1 + dice.IntN(restockMost)
		if dice.IntN(2) == 0 {
			pieces = -pieces
		}
		body := fmt.Sprintf(`{"add":%d}`, pieces)
		err := s.byRoot(ctx, "restock", func() error { return root.Call("POST", path, body, nil) })
		if err != nil {
			return err
		}
		root.IdempotencyKey = ""
		background.Pause(ctx, moment(dice, 100*time.Millisecond))
	}
	s.note("%d changes of the state, each with one of the stock", changes)
	return s.changeState(ctx, root, "open")
}

// root is logged in as root at the first server.
func (s *stack) root(ctx context.Context) (*client.Client, error) {
	root := &client.Client{Address: s.servers[0].address, Timeout: answerPatient}
	return root, s.byRoot(ctx, "login of root", func() error { return root.Login("root", rootPassword) })
}

// changeState changes the state of the sale. A scheduled sale opens by itself, soon.
func (s *stack) changeState(ctx context.Context, root *client.Client, state string) error {
	return s.byRoot(ctx, "state "+state, func() error {
		opens := ""
		if state == "scheduled" {
			opens = fmt.Sprintf(`,"opens_at":%q`, time.Now().Add(200*time.Millisecond).UTC().Format(time.RFC3339Nano))
		}
		return root.Call("PUT", "/admin/sale", fmt.Sprintf(`{"state":%q%s}`, state, opens), nil)
	})
}

// byRoot makes a call as root. While another fault goes on, it repeats the call until an answer comes. Some
// refusals are expected: too little stock to take back, a time in the past.
func (s *stack) byRoot(ctx context.Context, what string, call func() error) (err error) {
	waited := testkit.Await(ctx, "answer to root: "+what, startMax, func() bool {
		err = call()
		var refusal client.Refusal
		if errors.As(err, &refusal) && refusal.Status < http.StatusInternalServerError {
			if refusal.Code == "TOO_FEW_LEFT" || refusal.Code == "SALE_STATE_CONFLICT" {
				err = nil
			}
			return true
		}
		return err == nil || !s.paired
	})
	if waited != nil {
		return fmt.Errorf("%w: %w", waited, err)
	}
	return err
}

var errUnreleased = errors.New("no version is released yet")

// buildReleased builds the server of the last release: the highest tag v* of the repository.
func buildReleased(ctx context.Context) (path string, err error) {
	run := func(command string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-euc", command, "sh"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("cannot build the last release: %w\n%s", err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	tag, err := run(`git tag --list 'v[0-9]*' --sort=-version:refname | head -n 1`)
	if err != nil {
		return "", err
	}
	if tag == "" {
		return "", errUnreleased
	}
	folder, err := launch.LastingFolder("released")
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "flashsale")
	_, err = run(`cd "$(git rev-parse --show-toplevel)"
		git archive --prefix=source/ "$1" | tar -x -C "$2"
		cd "$2/source"; go build -buildvcs=false -o "$3" .`, tag, folder, path)
	return path, err
}
