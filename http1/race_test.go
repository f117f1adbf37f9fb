//go:build race

package http1

// Under the race detector pools drop what they are given at random, so that
// allocations cannot be counted.
const raceEnabled = true
