// Package trial measures one RPC stack under echo calls: a client process and
// a server process, over one window of load by package load.
//
// A program that has peers calls [Program], or [Child] from a main of its own.
// Whoever compares peers runs such programs with [Run], one trial after the
// other. Peers of different programs, which may be built from modules that
// cannot be linked together, are measured by this same code, so that none of
// them is favoured.
package trial
