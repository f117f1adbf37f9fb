package netio

// Broken reports whether it is known that nobody receives on the other side of c
// any more: its peer has reset it, or closed a unix socket. It looks past what was
// received and is unread, and does not wait. False says nothing: a peer that has
// closed a TCP connection in order looks as one that has ended its sending side
// only, and only sockets on Linux can tell, and TLS over them.
func Broken(c Conn) bool {
	b, ok := c.(interface{ isBroken() bool })
	return ok && b.isBroken()
}

// isBroken is what Broken asks.
func (t *TLS) isBroken() bool { return Broken(t.lower) }
