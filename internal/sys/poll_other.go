//go:build !linux

package sys

// What a Poll waits for and reports.
const (
	Readable uint32 = 1 << iota
	Writable
	PeerGone
	Hangup
	Failed
	Edge
)

// A Poll cannot be made on this system: use net's connections.
type Poll struct{}

// An Event is one ready descriptor.
type Event struct{}

// Flags is what the descriptor is ready for.
func (e *Event) Flags() uint32 { return 0 }

// Tag is what Add or Modify were given.
func (e *Event) Tag() Tag { return Tag{} }

// NewPoll fails: only Linux is served.
func NewPoll() (*Poll, error) { return nil, ErrUnsupported }

// Fd is no descriptor.
func (p *Poll) Fd() uintptr { return ^uintptr(0) }

// Add fails, as NewPoll.
func (p *Poll) Add(fd uintptr, flags uint32, t Tag) error { return ErrUnsupported }

// Poll fails, as NewPoll.
func (p *Poll) Poll(events []Event) (int, error) { return 0, ErrUnsupported }
