package rpc

import (
	"context"
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// A Kind is the shape of a method.
type Kind uint8

const (
	Unary        Kind = iota // one message, one answer
	Oneway                   // one message, no answer
	ServerStream             // one message, many answers
	ClientStream             // many messages, one answer
	Bidi                     // many and many, at the same time
)

// A Codec turns messages into bytes and back. It is a value in a method's
// description; implementations are safe for concurrent use. A panic of theirs fails
// the call only, but they must not end their goroutine (runtime.Goexit): where answers
// are decoded it may be another caller's, and its connection ends.
type Codec interface {
	// Append encodes msg at the end of out. After an error out holds an
	// unfinished message, which the caller takes back.
	Append(out *buf.Out, msg any) error
	// Decode fills msg from body, which it borrows: what is to outlive the
	// call is copied, or aliases body after View.Keep. Errors name an offset.
	Decode(body buf.View, msg any, lim *Limits) error
}

// An Encoding is the way a body is written, where a protocol leaves a choice
// and says in its frames what it was.
type Encoding uint8

const (
	Native  Encoding = iota // as the method's codec writes it
	Compact                 // Thrift's Compact protocol
)

// A Recoder is a Codec that has its messages in other encodings too.
type Recoder interface {
	Codec
	// In gives the codec of the same messages in another encoding, and nil for
	// one that it does not have.
	In(e Encoding) Codec
}

// A Weigher is a Codec that tells what it makes of a message.
type Weigher interface {
	Codec
	// DecodeWeighed is Decode, and tells how many bytes of memory the message
	// takes besides its text and binary, which are in body too. It is 0 with an
	// error.
	DecodeWeighed(body buf.View, msg any, lim *Limits) (bytes int, err error)
}

// An Unwrapper is a Codec of an IDL whose methods have arguments and declared
// exceptions, as Thrift's do: calls of one message are made with a message that holds
// the arguments, and answered with one that holds what is returned or thrown. A codec
// without it has the messages of the method themselves.
type Unwrapper interface {
	Codec
	// Args yields the arguments that msg holds, with their names in the IDL.
	Args(msg any) iter.Seq2[string, any]
	// Answer gives what msg returns, and nil if it holds an exception or nothing.
	Answer(msg any) any
}

// Next runs the rest of a call: the next interceptor, or the method itself.
type Next func(ctx context.Context, c *Call) error

// An Interceptor wraps calls on either side and of every shape. On the server
// it runs before the request is decoded. It may call next several times, one
// after the other (a retry), or not at all.
type Interceptor func(ctx context.Context, c *Call, next Next) error

// Chain nests interceptors around final, the first one outermost. Chains are
// built once; calling one costs no allocation.
func Chain(final Next, interceptors ...Interceptor) Next {
	for i := len(interceptors) - 1; i >= 0; i-- {
		icept, next := interceptors[i], final
		final = func(ctx context.Context, c *Call) error { return icept(ctx, c, next) }
	}
	return final
}

// A Method describes one method of a service for both sides. Generated code
// holds one for each; it is constant.
type Method struct {
	Service    string // the IDL's service name, with the package where the IDL has one
	Name       string // as on the wire
	Kind       Kind
	Idempotent bool // may be sent again although the server may have seen it
	Codec      Codec

	// New makes a call object for the server, with arguments and result in it.
	New func() *Call
	// Except puts err into result if the method declares it as an exception,
	// and reports whether it did. nil: nothing is declared.
	Except func(result any, err error) bool
	// Raise gives the declared exception that result holds, or an error if it
	// holds no result at all. nil: neither can happen.
	Raise func(result any) error

	requests, responses sizes
	decoded             sizes        // of requests
	cost                atomic.Int64 // ns
	failures            failures
	failsAs             *Method // in whose stead failures are counted; nil: its own
}

// largeBytes is the size from which a message is better encoded outside of
// the connection's lock, where it holds no other call up.
const largeBytes = 4 << 10

// smallInRow is how many small messages of a method must follow a large one
// until the next is expected to be small: of small and large ones in turn each
// large one would be met unprepared.
const smallInRow = 16

// LargeRequest reports whether requests were large lately; for engines, as
// are the methods below.
func (m *Method) LargeRequest() bool { return m.requests.large.Load() > 0 }

// LargeResponse reports whether responses were large lately.
func (m *Method) LargeResponse() bool { return m.responses.large.Load() > 0 }

// RequestBytes is about what the last large request weighed, at the most; 0 if
// requests were small lately.
func (m *Method) RequestBytes() int { return m.requests.expected() }

// ResponseBytes is RequestBytes of the responses.
func (m *Method) ResponseBytes() int { return m.responses.expected() }

// DecodedBytes is RequestBytes of what requests take once they are decoded,
// besides their text and binary.
func (m *Method) DecodedBytes() int { return m.decoded.expected() }

// NoteDecoded notes what a request takes once it is decoded. large: that is more
// than what any call costs.
func (m *Method) NoteDecoded(n int) (large bool) {
	m.decoded.note(n)
	return n >= largeBytes
}

// NoteRequest notes the size of a request.
func (m *Method) NoteRequest(n int) { m.requests.note(n) }

// NoteResponse notes the size of a response.
func (m *Method) NoteResponse(n int) { m.responses.note(n) }

// Cost is what the handler took lately, a moving average; 0 until it is known.
func (m *Method) Cost() time.Duration { return time.Duration(m.cost.Load()) }

// NoteCost notes what one run of the handler took. Of two at the same time one
// may be lost.
func (m *Method) NoteCost(d time.Duration) {
	have := m.cost.Load()
	if have == 0 {
		have = int64(d)
	}
	m.cost.Store(max(1, have+(int64(d)-have)/8))
}

// LogFailure counts a failure of the method that is to be logged, which a caller may
// bring about as often as it likes: at most ten a second are. left is how many were
// not since the last that was.
func (m *Method) LogFailure(now time.Time) (log bool, left int) {
	if m.failsAs != nil {
		m = m.failsAs
	}
	return m.failures.next(now)
}

// FailsAs has failures of m be logged as sparsely as if they were those of other. It is
// for methods that are made for one call: of such there are as many as callers like.
func (m *Method) FailsAs(other *Method) { m.failsAs = other }

// failuresLogged is how many failures of a method are logged a second.
const failuresLogged = 10

// failures bounds what is logged of them.
type failures struct {
	mu struct {
		sync.Mutex
		began  time.Time // of the second at hand
		logged int       // in it
		left   int       // not logged since the last that was
	}
}

func (f *failures) next(now time.Time) (log bool, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.mu.began) >= time.Second {
		f.mu.began, f.mu.logged = now, 0
	}
	if f.mu.logged == failuresLogged {
		f.mu.left++
		return false, 0
	}
	f.mu.logged++
	left, f.mu.left = f.mu.left, 0
	return true, left
}

// sizes are hints of what a method's messages of one direction weigh. All is
// atomic; nothing is written where all are small, or all of about one size, so that
// the line stays shared between cores.
type sizes struct {
	large atomic.Int32 // how many small ones more make the next one expected to be small
	bytes atomic.Int32 // of the last large one: the next power of two
}

func (s *sizes) note(n int) {
	have := s.large.Load()
	if n < largeBytes {
		if have > 0 {
			s.large.CompareAndSwap(have, have-1)
		}
		return
	}
	if have != smallInRow {
		s.large.Store(smallInRow)
	}
	if size := int32(1) << bits.Len(uint(min(n, 1<<30)-1)); s.bytes.Load() != size {
		s.bytes.Store(size)
	}
}

func (s *sizes) expected() int {
	if s.large.Load() == 0 {
		return 0
	}
	return int(s.bytes.Load())
}

// String gives Service/Name.
func (m *Method) String() string { return m.Service + "/" + m.Name }

// A Handler is a method bound to an implementation.
type Handler struct {
	Method *Method
	Serve  Next

	// Service is the name of the Service that it was registered with; the
	// server sets it.
	Service string
}

// A Service is a set of handlers under one name, as a server takes it.
type Service struct {
	Name    string
	Methods []Handler
	// IDL is the service's own description, for tools that ask a server what
	// it speaks; may be empty.
	IDL string

	// Unbound says that there is no implementation behind Methods: the service
	// describes, and a server refuses it.
	Unbound bool
}

// A Caller makes calls: a connection, a pool of them, the in-process path, a
// balanced set of endpoints. It is safe for concurrent use.
type Caller interface {
	// Do makes one call and returns when it has ended: with nil and the
	// call's result filled, with a declared exception, or with an *Error.
	// After Do has returned nothing touches the call any more.
	Do(ctx context.Context, c *Call) error
	// Close ends calls in flight after a short grace and frees everything.
	Close() error
}
