//go:build race

package buf

// Under the race detector pools drop what they are given at random, so that
// tests of allocations mean nothing.
const raceEnabled = true
