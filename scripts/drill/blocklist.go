package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flashsale/internal/testkit"
)

// The list of a drill: one document, and one that is not on it.
const (
	listRows    = "PASSP_SERIES,PASSP_NUMBER\n4509,123456\n"
	listedOne   = `["4509,123456","4509,123457"]`
	listReply   = `["4509,123456"]`
	outageShort = 5 * time.Second // longer than -redis-timeout
	outageLong  = 20 * time.Second
)

// writeList makes a list for the servers' -blocklist and returns its path.
func writeList(folder string) (string, error) {
	path := filepath.Join(folder, "list.csv.bz2")
	cmd := exec.Command("sh", "-c", `exec bzip2 -c > "$0"`, path)
	cmd.Stdin = strings.NewReader(listRows)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot pack a list with bzip2: %w", err)
	}
	return path, nil
}

// blocklistAnswers freezes Redis and kills it while the blocklist is asked without a pause: it must answer
// as before, from memory.
func blocklistAnswers(ctx context.Context, s *stack, _ *rand.Rand) error {
	asker := newShopper(s.servers[0].address, lister)
	if err := asker.login(); err != nil {
		return err
	}
	check := call{"POST", "/blocklist/check", listedOne}
	err := testkit.Await(ctx, "list", startMax, func() bool {
		answer, _, _ := asker.ask(check)
		return answer == "200"
	})
	if err != nil {
		return err
	}
	lasting := s.lasting(outageShort, outageLong)
	for _, fault := range []func() error{
		func() error { return s.redis.freeze(ctx, lasting) },
		func() error { return s.redis.restart(ctx, lasting) },
	} {
		ended := make(chan error, 1)
		go func() { ended <- fault() }()
		asked := 0
		for going := true; going; asked++ {
			select {
			case err := <-ended:
				if err != nil {
					return err
				}
				going = false
			default:
			}
			if answer, reply, took := asker.ask(check); answer != "200" || reply != listReply {
				s.breaks("the blocklist answered %s %s after %v while Redis was away", answer, reply, took)
			}
		}
		s.note("%d answers of the blocklist while Redis was away", asked)
		if err := s.awaitService(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restart kills Redis and starts it again after a time.
func (r *redis) restart(ctx context.Context, after time.Duration) error {
	r.held.Lock()
	defer r.held.Unlock()
	if err := r.kill(); err != nil {
		return err
	}
	pause(ctx, after)
	return r.start(ctx)
}
