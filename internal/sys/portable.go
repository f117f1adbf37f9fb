package sys

import "syscall"

// EAGAIN is what calls return that would have to wait.
const EAGAIN = syscall.EAGAIN

// A Tag tells which of a loop's connections an Event belongs to: its slot in a
// table, and the generation of that slot, so that an event of the slot's former
// owner is told apart.
type Tag struct{ Slot, Gen uint32 }
