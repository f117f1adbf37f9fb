package buf

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shelfTime is how long a block lies on its shelf in vain before it goes.
	shelfTime = time.Second
	// shelfBytes is the most that lies on all shelves. A peer chooses what sizes
	// its messages have, and may need many blocks of one class after the other.
	shelfBytes = 32 << 20
)

// A shelf holds the free blocks of one class of large ones. A sync.Pool forgets
// what nobody took between two collections; a process whose messages are large and
// whose heap is small collects a hundred times a second, so that a pool would give
// fresh memory most of the time: cleared, cold, its pages to be faulted in. A shelf
// forgets what nobody needed for a while, whatever the collector does.
type shelf struct {
	mu   sync.Mutex
	free []*Block // the one used last at the end
	low  int      // fewest blocks that were free at once since the last trim
}

// take gives a free block, the one used last; nil if there is none.
func (s *shelf) take() *Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free) - 1
	if n < 0 {
		return nil
	}
	b := s.free[n]
	s.free[n] = nil
	s.free = s.free[:n]
	s.low = min(s.low, n)
	return b
}

// put lays a free block on the shelf.
func (s *shelf) put(b *Block) {
	s.mu.Lock()
	s.free = append(s.free, b)
	s.mu.Unlock()
}

// trim drops the blocks that lay there in vain all the time since the last trim,
// and returns how many bytes that were.
func (s *shelf) trim() (bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.free[:s.low] {
		bytes += len(b.mem)
	}
	rest := copy(s.free, s.free[s.low:])
	clear(s.free[rest:])
	s.free = s.free[:rest]
	s.low = rest
	return bytes
}

// store is all shelves, and what trims them.
type store struct {
	shelves [classes - shelved]shelf
	bytes   atomic.Int64 // on all of them
	watch   sync.Once
}

// take gives a free block of a class; nil if there is none.
func (s *store) take(class int) *Block {
	b := s.shelves[class-shelved].take()
	if b != nil {
		s.bytes.Add(-int64(len(b.mem)))
	}
	return b
}

// put takes a block of a class that is free now, or leaves it to the collector.
func (s *store) put(class int, b *Block) {
	s.watch.Do(func() { s.trimLater(time.Now()) })
	if n := int64(len(b.mem)); s.bytes.Add(n) > shelfBytes {
		s.bytes.Add(-n)
		return
	}
	s.shelves[class-shelved].put(b)
}

// trimLater trims behind the first collection that ends shelfTime after since, and
// again and again. An idle process collects every two minutes, so that it holds
// nothing after four.
func (s *store) trimLater(since time.Time) {
	// What nobody refers to is found by the next collection.
	runtime.AddCleanup(new(*store), func(s *store) {
		if now := time.Now(); now.Sub(since) >= shelfTime {
			since = now
			for i := range s.shelves {
				s.bytes.Add(-int64(s.shelves[i].trim()))
			}
		}
		s.trimLater(since)
	}, s)
}
