//go:build !race

package testkit

// Race reports whether the race detector is on. sync.Pool then drops what it holds at random, so that counts
// of allocations mean nothing.
const Race = false
