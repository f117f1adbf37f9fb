//go:build !linux

package netio

import "syscall"

// A watcher does nothing here: a lost peer is noticed when the connection is
// used or closed.
type watcher struct{}

type ticket struct{}

func (*watcher) add(syscall.RawConn, *core) (ticket, bool) { return ticket{}, false }
func (*watcher) remove(ticket)                             {}
func (*watcher) close() error                              { return nil }
