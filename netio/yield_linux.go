package netio

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// A yielder is the queue of those who let others go first. They wait for an
// eventfd in Go's poller, as readers wait for their sockets. That is looked at when
// a processor has nothing else to do: so whoever runs already, and whatever else
// has come, is served before. With each look as many go on as there are
// processors.
//
// To yield costs a microsecond or two: a write to the eventfd, if nobody else has
// written, and waking two goroutines.
type yielder struct {
	run     sync.WaitGroup
	waiting atomic.Int32 // who waits
	work    atomic.Int64 // that was done since somebody has
	crowd   atomic.Int64 // how much of it crowds
	mu      struct {
		sync.Mutex
		bell        uintptr  // the eventfd, which nobody reads; 0 before the first who yields
		file        *os.File // owns it
		first, last *yield   // those who wait
		closed      bool
	}
}

// A yield is one who waits.
type yield struct {
	on   chan struct{} // capacity 1
	next *yield
}

// yields is a pool of plain memory.
var yields = sync.Pool{New: func() any { return &yield{on: make(chan struct{}, 1)} }}

// wait is Yielder's Yield.
func (y *yielder) wait() {
	m := &y.mu
	m.Lock()
	if m.closed || !y.startLocked() {
		m.Unlock()
		runtime.Gosched()
		return
	}
	y.waiting.Add(1)
	w := yields.Get().(*yield)
	if m.first == nil {
		m.first = w
		sys.Ring(m.bell) //nolint:errcheck // it cannot fail but for a closed descriptor
	} else {
		m.last.next = w
	}
	m.last = w
	m.Unlock()
	<-w.on
	yields.Put(w)
}

// startLocked makes the eventfd and its goroutine.
func (y *yielder) startLocked() bool {
	if y.mu.file != nil {
		return true
	}
	bell, err := sys.Eventfd()
	if err != nil {
		return false
	}
	f := os.NewFile(bell, "netio yield")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close() //nolint:errcheck // not made after all
		return false
	}
	y.mu.bell, y.mu.file = bell, f
	y.run.Go(func() { y.loop(raw) })
	return true
}

// loop runs until the file is closed. It never leaves RawConn.Read, whose entry
// would reset the poller's edge.
func (y *yielder) loop(raw syscall.RawConn) {
	raw.Read(func(uintptr) bool { //nolint:errcheck // closed
		n := runtime.GOMAXPROCS(0)
		y.crowd.Store(crowdWork * int64(n))
		y.admit(n)
		return false
	})
	for y.admit(1) {
		continue
	}
}

// admit has the first n of those who wait go on. It reports whether there were any.
func (y *yielder) admit(n int) (some bool) {
	y.work.Store(0)
	m := &y.mu
	m.Lock()
	var list *yield
	end := &list
	for ; n > 0 && m.first != nil; n-- {
		*end = m.first
		end, m.first = &m.first.next, m.first.next
	}
	*end = nil
	if m.first == nil {
		m.last = nil
	} else if !m.closed {
		sys.Ring(m.bell) //nolint:errcheck // it cannot fail but for a closed descriptor
	}
	m.Unlock()
	for w := list; w != nil; {
		y.waiting.Add(-1)
		next := w.next
		w.next = nil
		w.on <- struct{}{} // w is its owner's from here on
		w = next
	}
	return list != nil
}

// crowdWork is how much work crowds a processor: with a microsecond or less for each
// unit some hundred microseconds.
const crowdWork = 256

// crowded is Yielder's Crowded.
func (y *yielder) crowded(work int) bool {
	return y.work.Add(int64(work)) > max(crowdWork, y.crowd.Load()) || y.waiting.Load() > 0
}

// close gives the descriptor back that the yielder looks at sockets with.
func (y *yielder) close() error {
	y.mu.Lock()
	y.mu.closed = true
	file := y.mu.file
	y.mu.Unlock()
	if file == nil {
		return nil
	}
	err := file.Close()
	y.run.Wait()
	return err
}
