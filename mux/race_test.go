//go:build race

package mux_test

// raceEnabled: the race detector keeps about 30 KB for each goroutine that was
// ever alive at once, and never gives it back.
const raceEnabled = true
