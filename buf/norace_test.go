//go:build !race

package buf

const raceEnabled = false
