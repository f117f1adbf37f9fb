// Package load drives calls at a target and measures them: latency, calls a
// second, errors by code, and the CPU time that this process spent in the
// measured window alone.
//
// It knows two shapes of load. In a closed loop each caller makes its next
// call when the last one has ended; latency is as measured, and a slow target
// is asked less. In an open loop calls are due at a rate whatever the target
// does, and latency counts from the time that a call was due: a target that
// stalls for a second cannot hide it (coordinated omission).
//
// It knows no protocol: a call is a function. The commands bench and demo and
// the module bench all use it, so that every number is taken the same way.
package load
