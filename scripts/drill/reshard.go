package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// slotMoved moves the slot of a slice to another master, key by key, with the lower slots of its master:
// redis-cli moves the lowest slots first. Such a slot has a key for each order, and a few more.
func slotMoved(f *masterFault) error {
	least := f.times(1_000, 10_000)
	if err := testkit.Await(f, fmt.Sprintf("slice with %d orders", least), turnMax, func() bool {
		reply, _ := f.master.Ask("CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(f.slot)) // no reply counts as 0
		n, _ := strconv.Atoi(reply)
		return n >= least
	}); err != nil {
		return err
	}
	to := slices.IndexFunc(f.c.slots, func(slot int) bool { return f.c.Master(slot) != f.master })
	if to < 0 {
		return fmt.Errorf("%s is the master of all slices", f.master.Address)
	}
	lower, err := slotsUpTo(f.master, f.slot)
	if err != nil {
		return err
	}
	began := time.Now()
	output, err := exec.CommandContext(f, "redis-cli", "--cluster", "reshard", f.master.Address,
		"--cluster-from", f.master.ID, "--cluster-to", f.c.Master(f.c.slots[to]).ID,
		"--cluster-slots", strconv.Itoa(lower), "--cluster-yes", "--cluster-pipeline", "100").CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot move slots: %w\n%s", err, output[max(0, len(output)-logShown):])
	}
	if f.c.Master(f.slot) == f.master {
		return fmt.Errorf("redis-cli has moved %d slots, but not slot %d", lower, f.slot)
	}
	f.note("redis-cli has moved %d slots in %s", lower, seconds(time.Since(began)))
	return f.measureResumption(f)
}

// slotsUpTo is how many slots a master has, from its lowest up to the given one.
func slotsUpTo(master *launch.ClusterNode, slot int) (n int, err error) {
	nodes, err := master.Ask("CLUSTER", "NODES")
	for line := range strings.Lines(nodes) {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, master.ID) || len(fields) < 8 {
			continue
		}
		for _, slots := range fields[8:] { // such as 5 or 0-99
			var first, last int
			switch found, _ := fmt.Sscanf(slots, "%d-%d", &first, &last); found {
			case 0:
				continue
			case 1:
				last = first
			}
			n += max(0, min(last, slot)-first+1)
		}
	}
	return n, err
}
