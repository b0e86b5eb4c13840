//go:build !race

package redistest

// Race reports whether the race detector is on. sync.Pool then drops what it holds at random, and counts of
// allocations mean nothing.
const Race = false
