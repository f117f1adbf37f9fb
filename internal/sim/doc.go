// Package sim has tests only: a simulation of the whole stack in virtual time,
// with faults, from seeds. See docs/how/simulation.md.
package sim
