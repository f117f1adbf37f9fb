//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"sync/atomic"
	"syscall"
)

// A watcher does nothing here: a lost peer is noticed when the connection is
// used or closed.
type watcher struct{ down atomic.Bool }

type ticket struct{}

func (*watcher) add(syscall.RawConn, *sockConn) (ticket, bool) { return ticket{}, false }
func (*watcher) remove(ticket)                                 {}
func (*watcher) close() error                                  { return nil }
