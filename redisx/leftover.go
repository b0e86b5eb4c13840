package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// ErrLeftover refuses to open a sale beside keys of another sale that has lost its marker: the old orders
// would pass for orders of the new sale.
var ErrLeftover = errors.New("redis holds keys of a sale, but not its key " + MarkerKey)

// SaleKeys names the keys to delete before another sale starts in a Redis that has lost one: those of the
// current sale, and every log. Other keys of ended sales (turnover/keys.go) can stay.
const SaleKeys = "sale, sale{*, stock_*, gate_*, log_*, orders_*, restock_*, next_*, o_* and c_*"

// The search for leftovers is limited, because Redis may hold any number of other keys. SCAN walks the keys
// in the order of a hash, so the keys seen are a fair sample: if there are many orders, it soon finds one.
const (
	leftoverGlob  = "[cglos]*_*"     // all that leftoverKey may match
	leftoverStep  = 1000             // keys that one SCAN looks at: a fraction of a millisecond of Redis
	leftoverSteps = 2_000_000 / 1000 // about a second in all
)

// leftoverKey matches keys of a sale, and hardly ever keys of another program in the same Redis.
var leftoverKey = regexp.MustCompile(`^(?:o_\d+|c_[\w-]{16}|(?:stock|gate|log|orders)_[a-z2-7]{8})` +
	`(?:{\w+})?$`)

// findLeftover returns a key of a sale in a Redis without the sale's marker, "" when it finds none.
func findLeftover(ctx context.Context, l *pipeline.Link, cfg Config, steps int) (key string, err error) {
	cursor := "0"
	for range steps {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		var names []string
		x := pipeline.Command(&radix.Tuple{&cursor, &names},
			"SCAN", cursor, "MATCH", leftoverGlob, "COUNT", strconv.Itoa(leftoverStep))
		if err := l.Do(x, cfg.Timeout); err != nil {
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
	slog.Warn("Redis holds many other keys; none of those that were looked at belongs to another sale",
		"redis", cfg.Address, "looked_at", steps*leftoverStep)
	return "", nil
}
