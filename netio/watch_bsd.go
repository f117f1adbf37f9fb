//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"sync/atomic"
	"syscall"
)

// A watcher does nothing here: a lost peer is noticed when the connection is
// used or closed.
type watcher struct{ down atomic.Bool }

// A ticket is nothing here: no connection is watched for its loss.
type ticket struct{}

// add says that the loss of an idle connection is found by its next use.
func (*watcher) add(syscall.RawConn, *sockConn) (ticket, bool) { return ticket{}, false }
func (*watcher) remove(ticket)                                 {}
func (*watcher) close() error                                  { return nil }
