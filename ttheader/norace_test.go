//go:build !race

package ttheader

const raceEnabled = false
