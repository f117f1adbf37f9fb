package pipe

import (
	"io"
	"net"
	"sync"
	"time"
)

// A lane is one direction of a pipe: bytes on their way, with the time at which
// they arrive. It never blocks; its two signals wake who waits.
//
//	data  | received | arrived: seen-out bytes | on their way: in-seen bytes |
//	      0          off
//
// Of the numbers that only grow, out <= seen <= in. While the lane is held, what is sent
// gets no mark; the release marks all of it as sent at that moment. FuzzLane's model says
// the same in other words.
type lane struct {
	// Set by New, then constant.
	cfg   Config
	onEnd func() // runs on a goroutine of its own when the end has arrived

	// Signals, of one token each. A token may be stale: look again.
	readable, writable chan struct{}

	mu struct {
		sync.Mutex
		data    []byte    // sent and not received, from off
		off     int       // in data
		in, out int64     // bytes ever sent, and ever received
		seen    int64     // bytes that have arrived
		marks   []arrival // when more arrives; empty without a delay
		ended   bool      // the end was sent
		endAt   time.Time // when it arrives, once it is not held; zero: at once
		endErr  error     // what the receiver gets after the last byte
		held    bool
		stalled bool
		sendErr error // ends the sender
		recvErr error // ends the receiver at once, unread bytes or not
	}
}

// An arrival says that the bytes before pos have arrived at that time.
type arrival struct {
	pos int64
	at  time.Time
}

// newLane makes an empty one. onEnd is to be set before it is used.
func newLane(cfg Config) *lane {
	return &lane{cfg: cfg, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
}

// send takes a part of the pieces, 0 if the lane is full.
func (l *lane) send(pieces [][]byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mu.sendErr != nil:
		return 0, l.mu.sendErr
	case l.mu.ended:
		return 0, net.ErrClosed
	case l.mu.stalled:
		return 0, nil
	}
	free := l.freeLocked()
	for _, p := range pieces {
		p = p[:min(len(p), free-n)]
		l.mu.data = append(l.mu.data, p...)
		n += len(p)
	}
	if l.mu.in += int64(n); n > 0 {
		l.arriveLocked()
	}
	if l.cfg.LoseAfter > 0 && l.mu.in >= l.cfg.LoseAfter {
		// What was sent arrives; after it comes the reset.
		l.endLocked(ErrReset)
		l.mu.sendErr = ErrReset
		signal(l.writable)
	}
	return n, nil
}

// freeLocked is how much one send may take now.
func (l *lane) freeLocked() int {
	free := l.cfg.Buffer - (len(l.mu.data) - l.mu.off)
	if m := l.cfg.MaxSend; m > 0 {
		free = min(free, m)
	}
	if l.cfg.LoseAfter > 0 {
		free = int(min(int64(free), l.cfg.LoseAfter-l.mu.in))
	}
	return max(free, 0)
}

// arriveLocked notes when what was sent so far arrives.
func (l *lane) arriveLocked() {
	switch {
	case l.mu.held:
		return
	case l.cfg.Delay == 0:
		l.mu.seen = l.mu.in
	default:
		l.mu.marks = append(l.mu.marks, arrival{l.mu.in, time.Now().Add(l.cfg.Delay)})
	}
	signal(l.readable)
}

// receive fills p with what has arrived. Without any it returns the end, or in
// how much time more arrives, 0 if that is unknown.
func (l *lane) receive(p []byte) (n int, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.recvErr != nil {
		return 0, 0, l.mu.recvErr
	}
	for len(l.mu.marks) > 0 {
		if wait = time.Until(l.mu.marks[0].at); wait > 0 {
			break
		}
		l.mu.seen, wait = l.mu.marks[0].pos, 0
		l.mu.marks = l.mu.marks[1:]
	}
	if n = int(min(int64(len(p)), l.mu.seen-l.mu.out)); n > 0 {
		copy(p, l.mu.data[l.mu.off:l.mu.off+n])
		l.mu.off += n
		l.mu.out += int64(n)
		l.compactLocked()
		signal(l.writable)
		return n, 0, nil
	}
	if l.mu.ended && !l.mu.held && l.mu.out == l.mu.in {
		if wait = time.Until(l.mu.endAt); wait <= 0 {
			return 0, 0, l.mu.endErr
		}
	}
	return 0, wait, nil
}

// compactLocked keeps the received part of data small.
func (l *lane) compactLocked() {
	if l.mu.off == len(l.mu.data) {
		l.mu.data, l.mu.off = l.mu.data[:0], 0
	} else if l.mu.off > len(l.mu.data)/2 {
		k := copy(l.mu.data, l.mu.data[l.mu.off:])
		l.mu.data, l.mu.off = l.mu.data[:k], 0
	}
}

// finish ends the lane after what was sent. sendErr, if not nil, also ends the
// sender.
func (l *lane) finish(sendErr error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.sendErr == nil {
		l.mu.sendErr = sendErr
	}
	l.endLocked(io.EOF)
	signal(l.writable)
}

// endLocked sends the end, err, behind what was sent; the first end counts.
func (l *lane) endLocked(err error) {
	if l.mu.ended {
		return
	}
	l.mu.ended, l.mu.endErr = true, err
	l.endSentLocked()
}

// endSentLocked lets the end arrive, unless it is held.
func (l *lane) endSentLocked() {
	if l.mu.held {
		return
	}
	if l.cfg.Delay > 0 {
		l.mu.endAt = time.Now().Add(l.cfg.Delay)
	}
	signal(l.readable)
	time.AfterFunc(l.cfg.Delay, l.onEnd)
}

// fail ends both sides at once.
func (l *lane) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.recvErr == nil {
		l.mu.recvErr = err
		time.AfterFunc(0, l.onEnd)
	}
	l.stopLocked(err)
}

// reset is fail, unless the sender has ended in order before: what it has sent is
// received all the same, as a socket gives it before it tells of the reset.
func (l *lane) reset() {
	l.mu.Lock()
	orderly := l.mu.ended && l.mu.endErr == io.EOF
	l.mu.Unlock()
	if !orderly {
		l.fail(ErrReset)
	}
}

// closeReceiver ends the lane because nobody receives any more.
func (l *lane) closeReceiver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.recvErr == nil {
		l.mu.recvErr = net.ErrClosed
	}
	l.stopLocked(ErrReset)
}

// stopLocked drops what is on its way and wakes both sides, which find their errors.
func (l *lane) stopLocked(sendErr error) {
	if l.mu.sendErr == nil {
		l.mu.sendErr = sendErr
	}
	l.mu.data, l.mu.off, l.mu.marks = nil, 0, nil
	l.mu.out, l.mu.seen = l.mu.in, l.mu.in
	signal(l.readable)
	signal(l.writable)
}

// hold on keeps what is sent from arriving; off lets it arrive at once.
func (l *lane) hold(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.held == on {
		return
	}
	l.mu.held = on
	if on {
		return
	}
	l.arriveLocked()
	if l.mu.ended {
		l.endSentLocked()
	}
}

// stall on makes the lane full.
func (l *lane) stall(on bool) {
	l.mu.Lock()
	l.mu.stalled = on
	l.mu.Unlock()
	if !on {
		signal(l.writable)
	}
}

// signal leaves a signal in ch, unless there is one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
