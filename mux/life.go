package mux

import (
	"cmp"
	"io"
)

// A life is what a client's connection is at: who reads it, for how many, and
// whether it takes new calls. It changes only by the transitions below, each
// under the output lock. What has to follow from one, outside of the lock, it
// returns as effects, and one place carries them out (Conn.carryOut), so that
// no caller can forget to wake, kick, start, tell or end.
//
//	role     nobody ──enter──► caller ──────pass──────► reader
//	           ▲ ▲                │                      │  ▲
//	           │ └────answered────┘                      │  │ enter(cannot lead), read, readKept, hangUp
//	           └───────────nobody waits──────────────────┘  │ (from nobody)
//	         any ──lost, or idle with the door closed──► closed
//
//	door     open ──► leaving ──► hungUp ──► dead         only ever to the right
type life struct {
	// Set by NewConn, then constant.
	streams *streams // those that are open
	kept    *keeping // what waits in the session for room at the peer, which only what it says next gives

	// Guarded by the output lock.
	role      role
	door      door
	inflight  int     // calls, and waits of streams, that wait for the peer; with role nobody it is 0
	waits     int     // of inflight: waits of streams
	abandoned int     // slots in state gone
	leading   *waiter // with role caller: whose wait leads, if it is a stream's
	err       error   // with dead: why
}

// A role says who reads.
type role uint8

const (
	nobody role = iota // inflight is 0
	caller             // a caller that waits for its own answer
	reader             // a goroutine that serves everybody
	closed             // nobody will again
)

// A door says whether a connection takes new calls.
type door uint8

const (
	open    door = iota // it does
	leaving             // it does not: the peer drains, or is not trusted, or Close was called
	hungUp              // and the peer went while nobody read
	dead                // and the connection is gone
)

// effects is what a transition has left to be done without the lock.
type effects struct {
	wake  *waiter // waits that are over, and counted out
	tell  bool    // Status differs
	kick  bool    // the reader has nobody to read for, or the leader's wait is over
	start bool    // a reader: it has the role
	end   bool    // the role is closed: the connection, which is idle and takes no calls, is to be closed in order
	lost  error   // the role is closed: the connection is to be failed with it
}

// and joins the effects of two transitions under one lock.
func (e effects) and(f effects) effects {
	for f.wake != nil {
		w := f.wake
		f.wake, w.next = w.next, e.wake
		e.wake = w
	}
	return effects{e.wake, e.tell || f.tell, e.kick || f.kick, e.start || f.start, e.end || f.end, cmp.Or(e.lost, f.lost)}
}

// enter counts a call in. If nobody reads it leads, or, if it cannot, because
// it has more to send first or the reader has to wait, a reader starts.
func (l *life) enter(mayLead bool) (leads bool, fx effects) {
	l.inflight++
	switch {
	case l.role != nobody:
	case mayLead:
		l.role, leads = caller, true
	default:
		l.role, fx.start = reader, true
	}
	return leads, fx
}

// await counts the wait of a stream in; if nobody reads it leads, if it may.
func (l *life) await(w *waiter, mayLead bool) (leads bool, fx effects) {
	l.waits++
	if leads, fx = l.enter(mayLead); leads {
		l.leading = w
	}
	return leads, fx
}

// met counts the waits in list out. The one that leads is not among those to be
// woken: it finds out by itself, once it is kicked.
func (l *life) met(list *waiter) (fx effects) {
	for list != nil {
		w := list
		list, w.next = w.next, nil
		l.inflight--
		l.waits--
		if w == l.leading {
			fx.kick = true
			continue
		}
		w.next, fx.wake = fx.wake, w
	}
	return fx
}

// A holder is who has held the read role for a batch, as it is after it.
type holder uint8

const (
	readerHolds  holder = iota // the reader goroutine
	leaderWaits                // a leader whose own has not come
	leaderLeaves               // one that waits no more
)

// A roleAfter is what is to become of the read role after a batch.
type roleAfter uint8

const (
	keepRole  roleAfter = iota // kept until the leader is answered, or nobody waits
	passRole                   // a leader passes it on in any case
	closeRole                  // the connection is lost: nobody reads any more
)

// settle decides who reads from now on.
func (l *life) settle(h holder, after roleAfter) (fx effects) {
	switch {
	case after == closeRole:
		l.role = closed
	case h != leaderWaits && l.inflight == 0 && l.kept.bytes == 0 && l.door < hungUp: // else what the peer said last is read to its end
		l.role = nobody
		fx = l.idle()
	case l.role == caller && (h == leaderLeaves || after == passRole):
		l.role = reader
		fx.start = true
	}
	if l.role != caller {
		l.leading = nil
	}
	return fx
}

// close closes the door as far as to: nobody is let in any more.
func (l *life) close(to door) (fx effects) {
	fx.tell = l.door == open
	l.door = max(l.door, to)
	return fx
}

// abandon counts a call out that was given up, and whose slot stays taken; leads
// says that it held the read role. Too many of them are not let grow: the
// connection is to be replaced.
func (l *life) abandon(leads bool, most int) (fx effects) {
	return l.overdue(most).and(l.leave(leads))
}

// leave is abandon for a call whose slot is free at once.
func (l *life) leave(leads bool) effects {
	l.inflight--
	if leads {
		return l.settle(leaderLeaves, keepRole)
	}
	return l.unread()
}

// overdue counts a slot whose late answer is awaited.
func (l *life) overdue(most int) (fx effects) {
	if l.abandoned++; l.abandoned > most {
		fx = l.close(leaving)
	}
	return fx
}

// unread has a reader look up who reads for nobody any more.
func (l *life) unread() effects {
	return effects{kick: l.inflight == 0 && l.role == reader}
}

// idle ends a connection that carries nothing, if it takes no calls. Its role is
// closed at once, so that one ends it and nobody starts anything meanwhile. While
// something is kept somebody reads (readKept), so that it has not come to this yet.
func (l *life) idle() (fx effects) {
	if l.streams.open == 0 && l.role == nobody && l.door > open {
		l.role, fx.end = closed, true
	}
	return fx
}

// read starts a reader if nobody reads.
func (l *life) read() (fx effects) {
	if l.role == nobody {
		l.role, fx.start = reader, true
	}
	return fx
}

// readKept starts a reader for a message that is kept and that nobody waits for, such
// as a oneway call's: it goes on until nothing is kept.
func (l *life) readKept() (fx effects) {
	if l.kept.bytes > 0 {
		fx = l.read()
	}
	return fx
}

// hangUp notes that the peer went. If somebody reads, that one finds out by
// itself; else a reader does, since what the peer said last is to be known: streams
// wait for it, and it may say why it went.
func (l *life) hangUp() effects {
	fx := l.close(hungUp)
	fx.tell = fx.tell && l.streams.open > 0 // else whoever fails the connection tells, soon, and knows why
	return fx.and(l.read())
}

// lose ends a connection that nobody reads.
func (l *life) lose() (fx effects) {
	if l.role == nobody {
		l.role, fx.lost = closed, io.EOF
	}
	return fx
}

// breakOff ends a connection without ids, whose only call was given up: its late
// answer could be taken for the next call's. leads says that this call held the
// read role; else the reader will find out.
func (l *life) breakOff(leads bool, why error) effects {
	l.inflight--
	fx := l.close(leaving)
	if leads {
		l.role, fx.lost = closed, why
	}
	return fx
}

// over notes why the connection is gone.
func (l *life) over(err error) effects {
	l.close(dead)
	l.err = err
	return effects{tell: true}
}
