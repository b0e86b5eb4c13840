package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"

	"github.com/mediocregopher/radix/v4"
)

// ErrLeftover is the outcome of opening a sale beside keys of another one, which lost its marker: the
// orders there would pass for the new sale's.
var ErrLeftover = errors.New("redis holds keys of a sale, but not the sale")

// SaleKeys names all keys of a sale, for people who begin the next one in the same Redis.
const SaleKeys = "sale, stock_*, orders_*, o_* and c_*"

// The search for leftovers is bounded, for Redis may hold any number of other keys. SCAN walks them in the
// order of a hash, so that what it has seen stands for the rest: orders that are there in any number are
// found at once.
const (
	leftoverGlob  = "[cos]*_*"       // all that leftoverKey may match
	leftoverStep  = 1000             // keys that one SCAN looks at: about 0.3 ms of Redis
	leftoverSteps = 2_000_000 / 1000 // about a second
)

// leftoverKey matches keys of a sale, and hardly those of other programs in the same Redis.
var leftoverKey = regexp.MustCompile(`^(?:o_\d+|c_[\w-]{16}|(?:stock|orders)_[a-z2-7]{8})$`)

// findLeftover returns a key of a sale in a Redis without the sale's marker, "" when it finds none.
func findLeftover(ctx context.Context, l *link, cfg Config, steps int) (key string, err error) {
	cursor := "0"
	for range steps {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		var names []string
		reply := radix.Tuple{&cursor, &names}
		x := newCall().command(&reply, "SCAN", cursor, "MATCH", leftoverGlob,
			"COUNT", strconv.Itoa(leftoverStep))
		if err := l.ask(x, cfg.Timeout); err != nil {
			return "", fmt.Errorf("cannot search Redis at %s for keys of another sale: %w", cfg.Address, err)
		}
		for _, name := range names {
			if leftoverKey.MatchString(name) {
				return name, nil
			}
		}
		if cursor == "0" {
			return "", nil
		}
	}
	slog.Warn("Redis holds many other keys; among those that were looked at there is none of another sale",
		"redis", cfg.Address, "looked_at", steps*leftoverStep)
	return "", nil
}
