package netio

// A Yielder is a Conn that knows how to let others of its process go first.
//
// Who always finds something to receive never parks, and neither do those whom it
// hands its work to. Go's scheduler looks at sockets when a processor has run out
// of goroutines, else every 10 ms or more: so what has come on other connections
// is not even seen meanwhile, and runtime.Gosched does not change that.
type Yielder interface {
	// Rests is changed by each Receive that finds nothing and is about to park: what
	// was received before was all there was. It belongs to the read role.
	Rests() uint32

	// Yield returns once the sockets of others were looked at, and others that wait
	// in a Yield had their turn. It must not be called on an event loop.
	Yield()

	// Crowded is told how much work was done since it was told last, and reports whether
	// there is more to be done by all who tell it than is good to be done at once:
	// somebody waits in a Yield, or much was done since somebody has.
	Crowded(work int) bool
}
