package netio

// A LoopConn is a connection on an event loop: one of a Net whose Config names
// Loops. While it is idle it holds neither a goroutine nor a buffer. As a Conn
// it is like any other: Receive parks the goroutine that calls it.
type LoopConn interface {
	Conn

	// OnReadable is Receive for a caller that does not want to wait on a goroutine.
	// It does what can be done at once, an owed flush included, and returns as
	// Receive would; or it returns Parked, and the loop has the read role: it
	// receives, offers to step what has arrived, and calls done, once, with
	// what Receive would have returned. By then the role is free: done, or
	// whomever it tells, takes the next turn.
	//
	// step and done run on the loop's goroutine, which serves other connections
	// as well: neither may block. done may also run in a Kick, Close or Abort
	// of the connection, in the goroutine that calls it, and before OnReadable
	// has returned Parked. It may call OnReadable, and Close; it must not close
	// the Net. A Step that panics does so on the loop's goroutine.
	OnReadable(owed bool, step Step, done func(Outcome, error)) (Outcome, error)
}
