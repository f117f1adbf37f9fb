package relay

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
)

const (
	defaultPipes    = 256
	defaultPipeSize = 256 << 10
	// leastPipeSize is what a pipe must hold to be worth splicing through.
	leastPipeSize    = 64 << 10
	defaultPipesIdle = 5 * time.Second
	// pipesPause is for how long no pipe is made after the kernel refused one.
	pipesPause = time.Second
	pipeSlots  = 16
)

// Pipes is a pool of kernel pipes, which relays move bytes through. The zero
// value is ready; it must not be copied. All methods may be called concurrently.
//
// A pipe is taken when bytes are there to be moved and put back when it is
// empty, so that few pipes serve many connections. Pipes that nobody needs for
// Idle are closed, at the latest after twice that time. A pool with open pipes
// owns a timer; Close joins it.
type Pipes struct {
	// Set before the first Take, then constant.

	// Max is how many pipes may be open, idle or not; beyond it there are none,
	// and relays copy. 0 stands for 256, a negative value for none. A pipe is
	// two descriptors.
	Max int
	// Size is what a pipe holds, in bytes. 0 stands for 256 KB.
	Size int
	// Idle is how long a pipe stays open unused. 0 stands for 5 s.
	Idle time.Duration

	open func(size int) (r, w uintptr, granted int, err error) // nil: sys.OpenPipe

	// hints holds *pipeSlot: a sync.Pool gives each P one that it had before,
	// so that two Ps seldom touch the same slot. The slots, and with them the
	// pipes, are not the pool's: it may forget them at any time.
	hints  sync.Pool
	next   atomic.Uint32
	closed atomic.Bool
	slots  [pipeSlots]pipeSlot

	// Lock order: mu is taken by no one who holds another lock.
	mu struct {
		sync.Mutex
		free   []*Pipe     // last in, first out
		low    int         // least length of free since the last tick: so many were not needed
		opened int         // pipes that are open
		pause  time.Time   // no pipe is made before
		timer  *time.Timer // not nil while pipes are open
	}
	ticks sync.WaitGroup // of timers that will run or are running
}

// A pipeSlot holds one idle pipe, alone in its cache lines.
type pipeSlot struct {
	pipe atomic.Pointer[Pipe]
	_    [120]byte
}

// Take gives an empty pipe, or nil if there is none to be had: the pool's limit
// or one of the system's is reached, the pool is closed, or the system has no
// splice. Copy then. The pipe is the caller's until Put.
func (p *Pipes) Take() *Pipe {
	s, ok := p.hints.Get().(*pipeSlot)
	if !ok {
		s = &p.slots[p.next.Add(1)%pipeSlots]
	}
	k := s.pipe.Load()
	if k == nil || !s.pipe.CompareAndSwap(k, nil) {
		k = p.takeSlow()
	}
	if k != nil {
		k.slot = s
	}
	p.hints.Put(s)
	return k
}

// Put gives a pipe back. One that holds bytes, or may, is closed: the next user
// would send them to somebody else. Nil is allowed.
func (p *Pipes) Put(k *Pipe) {
	switch {
	case k == nil:
		return
	case k.held != 0:
		p.drop(k)
		return
	}
	// The slot of the P that took it: mostly still ours, and always right.
	s := k.slot
	ok := s.pipe.CompareAndSwap(nil, k)
	if ok && p.closed.Load() {
		// Close may have looked before this pipe was there.
		k = s.pipe.Swap(nil)
		ok = k == nil
	}
	if !ok {
		p.putSlow(k)
	}
}

// takeSlow takes from the stack, from any slot, or makes a pipe.
func (p *Pipes) takeSlow() *Pipe {
	p.mu.Lock()
	if n := len(p.mu.free); n > 0 {
		k := p.mu.free[n-1]
		p.mu.free[n-1] = nil
		p.mu.free = p.mu.free[:n-1]
		p.mu.low = min(p.mu.low, n-1)
		p.mu.Unlock()
		return k
	}
	defer p.mu.Unlock()
	if k := p.stealLocked(); k != nil {
		return k // goroutines move from P to P, and leave pipes behind
	}
	if p.mu.opened >= p.max() || p.closed.Load() || !p.mu.pause.IsZero() && time.Now().Before(p.mu.pause) {
		return nil
	}
	k, err := p.newPipe()
	if err != nil {
		p.mu.pause = time.Now().Add(pipesPause)
		return nil
	}
	p.mu.opened++
	p.armLocked()
	return k
}

// stealLocked takes what lies in the slot of another P.
func (p *Pipes) stealLocked() *Pipe {
	for i := range p.slots {
		if s := &p.slots[i]; s.pipe.Load() != nil {
			if k := s.pipe.Swap(nil); k != nil {
				return k
			}
		}
	}
	return nil
}

// newPipe makes a pipe. The kernel may grant less than was asked for (an unprivileged
// user has pipe-user-pages-soft, see pipe(7)); one that is too small is not worth it.
func (p *Pipes) newPipe() (*Pipe, error) {
	open, size := p.open, p.Size
	if open == nil {
		open = sys.OpenPipe
	}
	if size <= 0 {
		size = defaultPipeSize
	}
	r, w, granted, err := open(size)
	if err != nil {
		return nil, err
	}
	k := &Pipe{r: r, w: w, size: granted}
	if granted < min(size, leastPipeSize) {
		k.close()
		return nil, sys.EAGAIN
	}
	return k, nil
}

// max is Max, or what 0 stands for.
func (p *Pipes) max() int {
	if p.Max == 0 {
		return defaultPipes
	}
	return p.Max
}

// putSlow puts a pipe whose slot is taken on the stack.
func (p *Pipes) putSlow(k *Pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		p.dropLocked(k)
		return
	}
	p.mu.free = append(p.mu.free, k)
}

// drop closes a pipe that is not to be used again.
func (p *Pipes) drop(k *Pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked(k)
}

// dropLocked is drop under the lock: the count makes room for another.
func (p *Pipes) dropLocked(k *Pipe) {
	k.close()
	p.mu.opened--
}

// armLocked has tick run after Idle, if it is not to run already.
func (p *Pipes) armLocked() {
	if p.mu.timer != nil {
		return
	}
	idle := p.Idle
	if idle <= 0 {
		idle = defaultPipesIdle
	}
	p.ticks.Add(1)
	p.mu.timer = time.AfterFunc(idle, p.tick)
}

// tick closes the pipes that nobody needed since the last one. What lies in
// the slots moves to the stack: a P that is busy gets it back from there.
func (p *Pipes) tick() {
	defer p.ticks.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.timer = nil
	if p.closed.Load() {
		return
	}
	for _, k := range p.mu.free[:p.mu.low] {
		p.dropLocked(k)
	}
	// The bottom of the stack is what was used longest ago.
	n := copy(p.mu.free, p.mu.free[p.mu.low:])
	clear(p.mu.free[n:])
	p.mu.free = p.mu.free[:n]
	for k := p.stealLocked(); k != nil; k = p.stealLocked() {
		p.mu.free = append(p.mu.free, k)
	}
	p.mu.low = len(p.mu.free)
	if p.mu.opened > 0 {
		p.armLocked()
	}
}

// Open is how many pipes are open, idle and in use.
func (p *Pipes) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.opened
}

// Close closes the idle pipes and joins the timer. Pipes in use are closed when
// they are put back; none are given any more. It is idempotent.
func (p *Pipes) Close() error {
	p.mu.Lock()
	p.closed.Store(true)
	for _, k := range p.mu.free {
		p.dropLocked(k)
	}
	p.mu.free, p.mu.low = nil, 0
	for k := p.stealLocked(); k != nil; k = p.stealLocked() {
		p.dropLocked(k)
	}
	if t := p.mu.timer; t != nil && t.Stop() {
		p.mu.timer = nil
		p.ticks.Done()
	}
	p.mu.Unlock()
	p.ticks.Wait()
	return nil
}
