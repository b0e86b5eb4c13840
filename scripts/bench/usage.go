package main

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what the processes of a side have used so far.
type usage struct {
	app, redis time.Duration // user and system time
	workers    []int64       // resident memory of each process that serves HTTP, bytes
}

// readUsage adds up the trees under the roots. Time of a child that ends is the parent's from then on, so the difference
// of two readings is right even when processes came and went between them, as long as the roots live.
func readUsage(roots []int) (usage, error) {
	table, err := readProcesses()
	if err != nil {
		return usage{}, err
	}
	var u usage
	picked := tree(table, roots)
	for _, p := range picked {
		cpu, err := cpuTime(p.pid)
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
			continue // ended since the table was read
		} else if err != nil {
			return usage{}, err
		}
		if isStore(p.name) {
			u.redis += cpu + p.reaped
			continue
		}
		u.app += cpu + p.reaped
		if isWorker(p, picked) {
			memory, err := residentMemory(p.pid)
			if err != nil {
				return usage{}, err
			}
			u.workers = append(u.workers, memory)
		}
	}
	return u, nil
}

func isStore(name string) bool {
	return strings.HasPrefix(name, "redis-server") || strings.HasPrefix(name, "valkey-server")
}

// isWorker says that p has no child but stores: the others only supervise.
func isWorker(p process, picked []process) bool {
	for _, other := range picked {
		if other.parent == p.pid && !isStore(other.name) {
			return false
		}
	}
	return true
}

// memory is that of all workers, bytes.
func (u usage) memory() int64 {
	var sum int64
	for _, memory := range u.workers {
		sum += memory
	}
	return sum
}

// worker is the memory of the largest worker, bytes; 0 without any.
func (u usage) worker() int64 {
	var largest int64
	for _, memory := range u.workers {
		largest = max(largest, memory)
	}
	return largest
}
