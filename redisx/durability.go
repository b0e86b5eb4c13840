package redisx

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// Durability is what a crash of Redis or of its machine, or a full memory, can take of what was answered.
type Durability struct {
	Full bool   // nothing
	Loss string // in words, for the log
}

// ReadDurability asks Redis how it keeps its data. It fails where Redis cannot be reached; one that keeps its settings to
// itself is not full.
func ReadDurability(ctx context.Context, cfg Config) (Durability, error) {
	l, err := dial(ctx, cfg)
	if err != nil {
		return Durability{}, err
	}
	defer l.Close()
	names := []string{"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "aof-load-truncated", "maxmemory-policy", "save"}
	pairs := make([]map[string]string, len(names))
	x := newCall()
	for i, name := range names {
		x.command(&pairs[i], "CONFIG", "GET", name)
	}
	if err := l.ask(x, cfg.Timeout); err != nil {
		return Durability{Loss: fmt.Sprintf("it does not tell its settings (%v), so what a crash can lose is not known", err)}, nil
	}
	settings := map[string]string{}
	for _, pair := range pairs {
		maps.Copy(settings, pair)
	}
	return durability(settings), nil
}

func durability(settings map[string]string) Durability {
	switch {
	case strings.HasPrefix(settings["maxmemory-policy"], "allkeys-"): // volatile-* throws away carts only: orders have no lifetime
		return Durability{Loss: "maxmemory-policy " + settings["maxmemory-policy"] + ": it throws orders away when its memory is full; set noeviction"}
	case settings["appendonly"] != "yes" && settings["save"] == "":
		return Durability{Loss: "it keeps nothing on disk: a crash loses every order"}
	case settings["appendonly"] != "yes":
		return Durability{Loss: "no append-only file: a crash loses every order since its last snapshot"}
	case settings["appendfsync"] == "everysec":
		return Durability{Loss: "appendfsync everysec: a crash can lose the orders of the last two seconds"}
	case settings["appendfsync"] != "always":
		return Durability{Loss: "appendfsync " + settings["appendfsync"] + ": a power cut can lose the orders of the last half minute"}
	case settings["no-appendfsync-on-rewrite"] == "yes":
		return Durability{Loss: "no-appendfsync-on-rewrite yes: a power cut can lose the orders placed while it rewrites its append-only file"}
	}
	full := Durability{Full: true, Loss: "appendfsync always: a crash loses no order that was answered"}
	if settings["aof-load-truncated"] == "yes" { // the default
		full.Loss += " (set aof-load-truncated no as well: README.md says why)"
	}
	return full
}
