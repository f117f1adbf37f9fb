package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"iter"
	"net"
	"reflect"
	"sync"

	"github.com/limosa-rpc/limosa/buf"
)

// A Call is one call on one side: an interceptor sees the same type on the
// client and on the server. Its exported fields may be changed by
// interceptors, before next on the way out and after it on the way back. One
// goroutine at a time uses a Call; a concurrent attempt works on a Fork.
type Call struct {
	Method  *Method
	Service string   // on the client the service that is asked for; on the server the registered one that serves the call
	Asked   string   // on the server: what the caller said the service was; may be empty, or anything
	Peer    string   // the other side's address, as soon as it is known
	Header  Metadata // sent with the request, or received with it
	Trailer Metadata // sent with the answer, or received with it
	Attempt int      // 0 for the first; an interceptor that retries counts it up

	// Set when made, then constant. Both point into the object that embeds
	// the Call, so that one allocation serves all.
	args, result any

	several *streaming // nil: a call of one message

	serving *serving // on the server, else nil: a client's call is half the size without

	answered bool // client: result holds the answer of an earlier attempt
	encoding Encoding
}

// A ServerCall is a Call together with what it needs on a server: one allocation
// for both. It is for code that makes a server's calls.
type ServerCall struct {
	Call
	own serving
}

// Init makes args and result, two pointers into the object that embeds the
// ServerCall, the messages of the call, and gives the call.
func (x *ServerCall) Init(args, result any) *Call {
	x.args, x.result, x.serving = args, result, &x.own
	return &x.Call
}

// serving is what a call has on the server only.
type serving struct {
	life lifetime
	lazy lazyBody
	from Identifier // nil: nobody who can say
}

// served gives what the server's half of the call keeps.
func (c *Call) served() *serving {
	if c.serving == nil {
		c.serving = new(serving) // not made of a ServerCall
	}
	return c.serving
}

// lazyBody is a request that is decoded when somebody asks for it. It has a
// lock because a goroutine that a handler left behind may still ask.
type lazyBody struct {
	sync.Mutex
	state  bodyState
	body   buf.View
	lim    *Limits
	holder Holder // nil: nobody is told
	err    error
}

// A bodyState says what has become of the bytes of a request.
type bodyState uint8

const (
	bodyDecoded bodyState = iota // also a client's call: its arguments were never bytes
	bodyWaiting
	bodyFailed
	bodyGone
)

// Request gives the message that the call was made with, as the method has it: a
// *books.Order, of a type that a type switch can name. Of a Thrift method whose
// arguments are several, or one that is no struct, it is a message that holds them,
// of a type that is generated and not exported; Args gives these one by one. A call
// with a stream of requests has none: see OnSend and OnReceive. It is never a nil pointer:
// an argument that is left out is none, and the message that holds it stands for it; a
// call that is made with nil gives an error.
//
// On the server the first use decodes it; after the handler has returned an
// undecoded request is gone, and Request returns an error.
func (c *Call) Request() (any, error) {
	args, err := c.request()
	if err == nil {
		err = EngineOf(c).NilMessage("request")
	}
	if err != nil {
		return nil, err
	}
	if w := c.unwrapper(); w != nil {
		if msg := single(w.Args(args)); msg != nil {
			return msg, nil
		}
	}
	return args, nil
}

// Args gives what the method was called with, name and value in the order of the IDL:
// each argument of a Thrift method as the handler gets it, such as an int64 or a
// *books.Order. What is one message in its IDL comes once, with the empty name. It
// decodes as Request does, and fails as that does.
func (c *Call) Args() (iter.Seq2[string, any], error) {
	args, err := c.request()
	if err != nil {
		return nil, err
	}
	if w := c.unwrapper(); w != nil {
		return w.Args(args), nil
	}
	return func(yield func(string, any) bool) {
		if args != nil {
			yield("", args)
		}
	}, nil
}

// unwrapper is the method's codec if its messages are wrapped in others: those of a
// stream are not. nil: they are as the method has them.
func (c *Call) unwrapper() Unwrapper {
	if c.Method == nil || c.Method.Kind > Oneway || c.args == nil {
		return nil
	}
	w, _ := c.Method.Codec.(Unwrapper)
	return w
}

// single is the one argument of all, if it is a message and is there; else nil.
func single(args iter.Seq2[string, any]) (msg any) {
	n := 0
	for _, a := range args {
		n++
		if v := reflect.ValueOf(a); v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct && !v.IsNil() {
			msg = a
		}
	}
	if n != 1 {
		return nil
	}
	return msg
}

// request gives the message that the call was made with as it is on the wire, decoded.
func (c *Call) request() (any, error) {
	if c.serving == nil {
		return c.args, nil
	}
	l := &c.serving.lazy
	l.Lock()
	defer l.Unlock()
	switch l.state {
	case bodyWaiting:
		if err := l.decode(c.codec(), c.args); err != nil {
			l.state, l.err = bodyFailed, undecodable(err)
			return nil, l.err
		}
		l.state = bodyDecoded
	case bodyFailed:
		return nil, l.err
	case bodyGone:
		return nil, &Error{Code: FailedPrecondition, Op: "request", Msg: "the handler has returned"}
	}
	return c.args, nil
}

// decode decodes the body into msg, and tells the engine what that takes.
func (l *lazyBody) decode(codec Codec, msg any) (err error) {
	w, ok := codec.(Weigher)
	if !ok || l.holder == nil {
		return codec.Decode(l.body, msg, l.lim)
	}
	if err := l.holder.Decodes(l.body.Len()); err != nil {
		return err
	}
	n := 0
	defer func() { l.holder.Decoded(n) }() // also of a codec that panics
	n, err = w.DecodeWeighed(l.body, msg, l.lim)
	return err
}

// undecodable is what the peer is told of a request that makes no sense: the
// codec's words hold offsets and field names, nothing of this side.
func undecodable(err error) error {
	code := CodeOf(err)
	if code == Unknown {
		code = InvalidArgument
	}
	// A codec's error with a code says both once more: what is in it says where and why.
	if e, ok := err.(*Error); ok && e.Op == "decode" && e.Msg == "" && e.Err != nil {
		err = e.Err
	}
	return Errorf(code, "decode request: %w", err)
}

// Response gives the answer as the method returns it, such as a *books.Book or an
// int64, after next; what it points to may be changed. It is nil where there is none:
// before, and of a call that has failed, whose error next returns.
func (c *Call) Response() any {
	if w := c.unwrapper(); w != nil && c.result != nil {
		return w.Answer(c.result)
	}
	return c.result
}

// Declared reports whether err is, or wraps, an exception that the method declares
// in its IDL: an answer, not a failure. It is so on both sides.
func (c *Call) Declared(err error) bool {
	if err == nil || c.Method == nil || c.Method.Except == nil || c.result == nil {
		return false
	}
	scratch := reflect.New(reflect.TypeOf(c.result).Elem()).Interface() // Except writes into it
	return c.Method.Except(scratch, err)
}

// PeerInfo tells who the caller of a server's call is, as far as its connection
// knows. It is for handlers and interceptors, while the call lasts, and asks the
// connection: who does not call it pays nothing. On a client, and in this process, it
// is the zero value.
func (c *Call) PeerInfo() PeerInfo {
	if c.serving == nil || c.serving.from == nil {
		return PeerInfo{}
	}
	return c.serving.from.PeerInfo()
}

// A PeerInfo is what is known of a caller besides what it says itself.
type PeerInfo struct {
	Addr net.Addr             // where it calls from
	TLS  *tls.ConnectionState // nil: it does not speak TLS; PeerCertificates and VerifiedChains are its identity, if the server asked for one
	Unix *UnixPeer            // nil: not a unix socket, or not on Linux
}

// A UnixPeer is the process that has opened a unix socket, as the kernel knows it.
type UnixPeer struct {
	PID      int
	UID, GID uint32
}

// Identity gives the first certificate that the caller has proved to own and that the
// server's TLS configuration has verified; nil if there is none.
func (p PeerInfo) Identity() *x509.Certificate {
	if p.TLS == nil || len(p.TLS.VerifiedChains) == 0 {
		return nil
	}
	return p.TLS.VerifiedChains[0][0]
}

// codec is the method's, in the encoding of the call.
func (c *Call) codec() Codec {
	if c.encoding == Native {
		return c.Method.Codec
	}
	if r, ok := c.Method.Codec.(Recoder); ok {
		if in := r.In(c.encoding); in != nil {
			return in
		}
	}
	if c.serving != nil {
		if more, ok := c.serving.from.(Coder); ok {
			if in := more.CodecIn(c.Method, c.encoding); in != nil {
				return in
			}
		}
	}
	return noCodec(c.encoding)
}

// noCodec stands for the codec that a method does not have.
type noCodec Encoding

func (e noCodec) err() error {
	return &Error{Code: Unimplemented, Op: "encoding", Msg: "the method's codec does not write " + Encoding(e).String(), Sent: NotSent}
}

func (e noCodec) Append(*buf.Out, any) error          { return e.err() }
func (e noCodec) Decode(buf.View, any, *Limits) error { return e.err() }

// FromContext finds the call that is being handled under ctx: the one whose
// handler was given ctx or an ancestor of it. It is nil outside of a handler.
func FromContext(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}
