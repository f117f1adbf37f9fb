// Package buf holds bytes on their way between sockets and codecs: In is what
// has arrived, Out is what is to be sent, and a View is a counted reference to
// bytes that outlive both. All three work on Blocks, counted memory in size
// classes from 4 KB to 1 MB.
//
// # Ownership
//
// Every method says what happens to memory: it *borrows* (may use it for the
// call, or until a named event), *gives* (hands over for good), or *owns* (has
// to release). An In or Out belongs to one goroutine at a time, only Views
// cross. A released View must not be touched; a double release panics in every
// build.
//
// # Debugging
//
// Under the build tag `invariants` released memory is taken out of use: reads
// and writes of it fault (Linux) or see 0xCC. Live counts blocks, panics show
// where a block was taken and released, Explain names the block of a faulting
// address.
//
// The package does no I/O and starts no goroutine. Its only state are pools.
package buf
