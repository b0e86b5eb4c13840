package compare

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/proc"
)

// Usage is the CPU time and memory of the processes of a side so far, without the process of the websockets.
type Usage struct {
	App, Redis time.Duration // user and system time
	Workers    []int64       // resident memory of each process that serves HTTP, bytes
}

// ReadUsage adds up the trees under the roots. The time of an ended child counts for its parent, so the
// difference of two readings is right even if processes started and ended in between, as long as the roots
// live.
func ReadUsage(roots []int) (Usage, error) {
	table, err := proc.All()
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	picked := proc.Tree(table, roots...)
	for _, p := range picked {
		cpu, err := proc.CPUTime(p.PID)
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
			continue // ended since the table was read
		} else if err != nil {
			return Usage{}, err
		}
		if isStore(p.Name) {
			u.Redis += cpu + p.ReapedCPU
			continue
		}
		if holdsPushes(p.PID) {
			continue
		}
		u.App += cpu + p.ReapedCPU
		if isWorker(p, picked) {
			status, err := proc.ReadStatus(p.PID)
			if err != nil {
				return Usage{}, err
			}
			u.Workers = append(u.Workers, status.Resident)
		}
	}
	return u, nil
}

// isStore reports whether a process of this name is a Redis.
func isStore(name string) bool {
	return strings.HasPrefix(name, "redis-server") || strings.HasPrefix(name, "valkey-server")
}

// isWorker reports whether p has no child but stores: the others only supervise.
func isWorker(p proc.Stat, picked []proc.Stat) bool {
	for _, other := range picked {
		if other.Parent == p.PID && !isStore(other.Name) {
			return false
		}
	}
	return true
}

// Memory is the sum over all workers, bytes.
func (u Usage) Memory() int64 {
	var sum int64
	for _, memory := range u.Workers {
		sum += memory
	}
	return sum
}

// LargestWorker is the memory of the largest worker, bytes; 0 without any.
func (u Usage) LargestWorker() int64 {
	var largest int64
	for _, memory := range u.Workers {
		largest = max(largest, memory)
	}
	return largest
}
