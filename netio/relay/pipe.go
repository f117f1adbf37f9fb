package relay

import (
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/internal/sys"
)

// A Pipe carries bytes from one socket to another inside the kernel. One
// goroutine uses it at a time. Its methods never wait: EAGAIN says that the
// socket has nothing, or takes nothing.
type Pipe struct {
	r, w uintptr
	size int
	held int       // bytes in it
	slot *pipeSlot // that it goes back to; set by Take
}

// len is how many bytes the pipe holds.
func (k *Pipe) len() int { return k.held }

// fill moves what has arrived on a socket into the pipe, which is empty, up to
// the pipe's size. 0, nil is the end: the peer has closed its side.
func (k *Pipe) fill(fd uintptr) (int, error) {
	if invariant.Enabled {
		invariant.Check(k.held == 0, "relay: fill of a pipe with %d bytes", k.held)
	}
	n, err := sys.Splice(fd, k.w, k.size)
	k.held += n
	return n, err
}

// drain moves what the pipe holds into a socket, as much as goes.
func (k *Pipe) drain(fd uintptr) (int, error) {
	n, err := sys.Splice(k.r, fd, k.held)
	k.held -= n
	return n, err
}

// read copies bytes out of the pipe, for a direction that cannot splice them any further.
func (k *Pipe) read(p []byte) (int, error) {
	n, err := sys.ReadPipe(k.r, p)
	k.held -= n
	return n, err
}

// close closes both ends, with what the pipe holds.
func (k *Pipe) close() {
	sys.Close(k.r) //nolint:errcheck // there is nothing left to do about it
	sys.Close(k.w) //nolint:errcheck
}
