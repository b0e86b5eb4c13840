package pipeline

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// durabilitySettings are the settings of Redis that decide which data survives.
var durabilitySettings = []string{
	"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "aof-load-truncated",
	"maxmemory-policy", "save",
}

// Durability is what a crash of Redis or its machine, or a full memory, can destroy of answered changes.
type Durability struct {
	Full bool   // nothing can be lost
	Loss string // what can be lost, as text for the log
}

// ReadDurability asks Redis how it keeps its data. It fails if Redis cannot be reached. A Redis that hides
// its settings is not Full.
func ReadDurability(ctx context.Context, cfg Config) (Durability, error) {
	l, err := Dial(ctx, cfg)
	if err != nil {
		return Durability{}, err
	}
	defer l.Close()
	x := NewCall()
	settings := x.settings(durabilitySettings...)
	if err := l.Do(x, cfg.Timeout); err != nil {
		const unknown = "it does not tell its settings (%v), so what a crash can lose is not known"
		return Durability{Loss: fmt.Sprintf(unknown, err)}, nil
	}
	return DurabilityOf(settings()), nil
}

// settings adds commands that read settings of Redis. got returns them after the call, by name.
func (x *Call) settings(names ...string) (got func() map[string]string) {
	pairs := make([]map[string]string, len(names))
	for i, name := range names {
		x.Command(&pairs[i], "CONFIG", "GET", name)
	}
	return func() map[string]string {
		all := map[string]string{}
		for _, pair := range pairs {
			maps.Copy(all, pair)
		}
		return all
	}
}

// DurabilityOf judges the settings of a Redis.
func DurabilityOf(settings map[string]string) Durability {
	fsync, policy := settings["appendfsync"], settings["maxmemory-policy"]
	switch {
	case strings.HasPrefix(policy, "allkeys-"): // volatile-* keeps keys without a lifetime, such as orders
		return Durability{Loss: "maxmemory-policy " + policy +
			": it throws orders away when its memory is full; set noeviction"}
	case settings["appendonly"] != "yes" && settings["save"] == "":
		return Durability{Loss: "it keeps nothing on disk: a crash loses every order"}
	case settings["appendonly"] != "yes":
		return Durability{Loss: "no append-only file: a crash loses every order since its last snapshot"}
	case fsync == "everysec":
		return Durability{Loss: "appendfsync everysec: a crash can lose the orders of the last two seconds"}
	case fsync != "always":
		return Durability{Loss: "appendfsync " + fsync +
			": a power cut can lose the orders of the last half minute"}
	case settings["no-appendfsync-on-rewrite"] == "yes":
		return Durability{Loss: "no-appendfsync-on-rewrite yes: " +
			"a power cut can lose the orders placed while it rewrites its append-only file"}
	}
	full := Durability{Full: true, Loss: "appendfsync always: a crash loses no order that was answered"}
	if settings["aof-load-truncated"] == "yes" { // the default
		full.Loss += " (set aof-load-truncated no as well: with yes, a restart after a crash can keep half an " +
			"order)"
	}
	return full
}
