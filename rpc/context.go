package rpc

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A lifetime is the context part of a server's call. Done is made on demand:
// most handlers never ask for it, and then a call costs no channel.
type lifetime struct {
	parent   context.Context // set by Begin, then constant
	deadline time.Time       // set by Begin, then constant

	mu struct {
		sync.Mutex
		err    error         // set once, then constant
		done   chan struct{} // nil until somebody asks
		afters []*after
		timer  *time.Timer // nil until somebody waits for the deadline
	}
}

// An after is a function to run when the context ends.
type after struct{ f func() }

// callKey is what a handler's context finds its call by.
type callKey struct{}

// ErrDraining is the cause (context.Cause) of a handler's context that has ended
// while its server drains.
var ErrDraining = errors.New("the server is shutting down")

// Draining is closed when the server of the handler that was given ctx begins to
// drain: a handler that streams, or polls for long, is to come to its end. The
// drain waits for it, and ends ctx after Server.Drain. Outside of a handler, and
// of one in this process, it is nil.
func Draining(ctx context.Context) <-chan struct{} {
	c := FromContext(ctx)
	if c == nil || c.serving == nil || c.serving.life.parent == nil {
		return nil
	}
	return c.serving.life.parent.Done()
}

// callContext is a Call seen as a context.Context. A type of its own keeps
// Deadline, Done, Err and Value off the Call that interceptors see.
type callContext Call

// Deadline implements [context.Context].
func (x *callContext) Deadline() (time.Time, bool) {
	return x.serving.life.deadline, !x.serving.life.deadline.IsZero()
}

// Done implements [context.Context]. The channel is made when it is first asked for: most handlers never do.
func (x *callContext) Done() <-chan struct{} {
	l := &x.serving.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.done == nil {
		l.mu.done = make(chan struct{})
		if l.mu.err != nil {
			close(l.mu.done)
		}
		l.armLocked()
	}
	return l.mu.done
}

// Err implements [context.Context]. It looks at the clock itself: without Done there is no timer.
func (x *callContext) Err() error {
	l := &x.serving.life
	if !l.deadline.IsZero() && !time.Now().Before(l.deadline) {
		l.end(context.DeadlineExceeded) // no timer runs unless somebody waits
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.err
}

// Value implements [context.Context].
func (x *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return (*Call)(x)
	}
	return x.serving.life.parent.Value(key)
}

// AfterFunc is what package context looks for in a foreign context: with it a
// child context needs no goroutine to watch its parent.
func (x *callContext) AfterFunc(f func()) (stop func() bool) {
	l := &x.serving.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err != nil {
		go f() // context.AfterFunc: in a goroutine of its own, which ends with f
		return func() bool { return false }
	}
	a := &after{f}
	l.mu.afters = append(l.mu.afters, a)
	l.armLocked()
	return func() bool { return l.remove(a) }
}

// String keeps fmt from walking into a live call.
func (x *callContext) String() string { return "rpc.Call(" + x.Method.String() + ")" }

// armLocked sees to it that the deadline ends the context, now that somebody
// waits for that. Most handlers never do, and then a deadline costs no timer.
func (l *lifetime) armLocked() {
	if l.mu.timer == nil && l.mu.err == nil && !l.deadline.IsZero() {
		l.mu.timer = time.AfterFunc(time.Until(l.deadline), func() { l.end(context.DeadlineExceeded) })
	}
}

// remove takes a out of what is to be run at the end, and reports whether it was there.
func (l *lifetime) remove(a *after) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, have := range l.mu.afters {
		if have == a {
			last := len(l.mu.afters) - 1
			l.mu.afters[i] = l.mu.afters[last]
			l.mu.afters[last] = nil
			l.mu.afters = l.mu.afters[:last]
			return true
		}
	}
	return false
}

// end ends the context with err, once, and runs what waits for that.
func (l *lifetime) end(err error) {
	l.mu.Lock()
	if l.mu.err != nil {
		l.mu.Unlock()
		return
	}
	l.mu.err = err
	if l.mu.done != nil {
		close(l.mu.done)
	}
	if l.mu.timer != nil {
		l.mu.timer.Stop()
	}
	afters := l.mu.afters
	l.mu.afters = nil
	l.mu.Unlock()
	for _, a := range afters {
		// Package context's own children registered cancel functions here,
		// which do not block; a user's function runs in its own goroutine,
		// because context.AfterFunc starts one around it.
		a.f()
	}
}
