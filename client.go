package limosa

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/internal/secure"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/wire"
)

// Gen1 is referred to by generated code: code of a generator that this
// version no longer supports does not compile.
const Gen1 = 1

// A Form is how Thrift messages are framed toward a target. It is never
// guessed: a peer of bare messages would hang on another form.
type Form uint8

const (
	TTHeader Form = iota // the default: metadata, deadlines, many calls on one connection
	Framed               // a length before each message
	Buffered             // bare messages
	THeader              // the header of Apache's THeaderTransport: metadata, deadlines

	// The same with messages in Thrift's Compact protocol.
	FramedCompact
	BufferedCompact
	THeaderCompact
)

var forms = [...]string{
	TTHeader: "ttheader", Framed: "framed", Buffered: "buffered", THeader: "theader",
	FramedCompact: "framed-compact", BufferedCompact: "buffered-compact", THeaderCompact: "theader-compact",
}

// String gives the form as it is written in a target.
func (f Form) String() string {
	if int(f) < len(forms) {
		return forms[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// A Client makes calls to one target. The zero value with a Target works; its
// fields are not changed after the first call. All methods may be called
// concurrently. Connections are made when calls need them and shared by all
// calls; one that breaks is replaced, with a growing pause while that fails.
type Client struct {
	// Target is host:port, tcp://host:port, tls://host:port or unix:///path; settings may
	// follow: ?thrift=framed for a form of Thrift, with &multiplexed=true to send
	// Service:Method as the name, as Apache's TMultiplexedProtocol does; or ?protocol=grpc
	// for one of Protocols.
	Target string
	Thrift Form // unless the target names one

	// Protocols is what the client may speak besides Thrift, as a program links it, such as
	// web.Protocol{} for gRPC and web.Protocol{Connect: true} for Connect: the first one,
	// unless the target names another, or Thrift.
	Protocols []wire.Protocol

	Timeout       time.Duration     // of each call of one message; 0: the context's deadline only
	StreamTimeout time.Duration     // of each stream, from its opening to its end; 0: the context's deadline only
	Interceptors  []rpc.Interceptor // around every call, the first one outermost
	TLS           *tls.Config       // not nil: speak TLS on TCP
	Limits        rpc.Limits        // the zero value is the defaults
	Stats         *stats.Set        // where the client counts what it holds, its connections and its dials; may be nil, and shared
	Logger        *slog.Logger      // nil: slog.Default, for metadata that Thrift's form has no place for, and nothing else

	once sync.Once
	lost sync.Once // it was told that metadata is
	// Set once, then constant.
	err      error
	endpoint *endpoint.Endpoint
	call     rpc.Next
}

// Dial makes a client for target: with all defaults, but for the options. It checks
// both and does not connect: the first call does.
func Dial(target string, opts ...DialOption) (*Client, error) {
	c := &Client{Target: target}
	for _, o := range opts {
		if o == nil {
			return nil, &rpc.Error{Code: rpc.InvalidArgument, Op: "client", Sent: rpc.NotSent, Msg: "an option is nil"}
		}
		o(c)
	}
	c.once.Do(c.start)
	if c.err != nil {
		return nil, c.err
	}
	return c, nil
}

// A DialOption sets fields of the Client that Dial makes, such as
//
//	limosa.Dial("tls://shop:8888", func(c *limosa.Client) { c.Timeout = time.Second })
type DialOption = func(*Client)

// start makes the client ready; its result is in err.
func (c *Client) start() {
	t, speaks, err := c.check()
	if err != nil {
		c.err = err
		return
	}
	config := c.TLS
	if t.TLS && config == nil {
		config = &tls.Config{}
	}
	if t.Network != "tcp" {
		config = nil
	}
	proto, plain := speaks.to(t, config != nil)
	if n, ok := proto.(wire.Named); ok {
		config = secure.Ask(config, n.ALPN())
	}
	c.endpoint = endpoint.New(endpoint.Config{
		Network: t.Network, Addr: t.Addr, Protocol: proto, WithoutOffer: plain, Limits: c.Limits.WithDefaults(),
		TLS: config, Logger: c.Logger, Stats: c.Stats,
	})
	do := rpc.Next(c.endpoint.Do)
	if a, ok := proto.(wire.Addressed); ok {
		do = carried(a, do)
	}
	if speaks.other == nil && !speaks.form.metadata() {
		do = c.without(speaks.form, do)
	}
	c.call = rpc.Chain(named(do), c.Interceptors...)
}

// check tells what is wrong with the client before it connects.
func (c *Client) check() (t endpoint.Target, speaks speech, err error) {
	if t, err = endpoint.ParseTarget(c.Target); err != nil {
		return t, speaks, err
	}
	if speaks, err = c.speech(t); err != nil {
		return t, speaks, err
	}
	bad := func(msg string) (endpoint.Target, speech, error) {
		return t, speaks, &rpc.Error{Code: rpc.InvalidArgument, Op: "client", Sent: rpc.NotSent, Msg: msg}
	}
	switch {
	case t.Network == "tcp" && (strings.HasSuffix(t.Addr, ":") || strings.HasSuffix(t.Addr, ":0")):
		return t, speaks, t.Bad("no port")
	case c.Timeout < 0 || c.StreamTimeout < 0:
		return bad("a timeout is below zero; zero is none")
	case c.Thrift > THeaderCompact:
		return bad(c.Thrift.String() + " is no form of Thrift")
	case slices.ContainsFunc(c.Interceptors, func(x rpc.Interceptor) bool { return x == nil }):
		return bad("an interceptor is nil")
	}
	return t, speaks, c.Limits.Check()
}

// metadata reports whether the form has a place for it.
func (f Form) metadata() bool {
	return f == TTHeader || f == THeader || f == THeaderCompact
}

// without makes calls in a form that carries no metadata. Theirs is lost, and that is
// no failure: what a handler passes on to all that it calls is not worth less to the
// others. But it is told, once.
func (c *Client) without(form Form, next rpc.Next) rpc.Next {
	return func(ctx context.Context, call *rpc.Call) error {
		if len(call.Header) > 0 {
			c.lost.Do(func() {
				cmp.Or(c.Logger, slog.Default()).WarnContext(ctx, "rpc: metadata is lost: this form of Thrift has no place for it",
					"target", c.Target, "form", form.String(), "key", call.Header[0].Key, "method", call.Method.String())
			})
		}
		return next(ctx, call)
	}
}

// Do makes one call. It is rpc.Caller's method, which generated clients use.
func (c *Client) Do(ctx context.Context, call *rpc.Call) error {
	c.once.Do(c.start)
	if c.err != nil {
		return c.err
	}
	timeout := c.Timeout
	if call.Method.Kind > rpc.Oneway {
		timeout = c.StreamTimeout
	}
	return made(ctx, call, timeout, c.call)
}

// made makes call by next, with the options of ctx.
func made(ctx context.Context, call *rpc.Call, timeout time.Duration, next rpc.Next) error {
	if o := prepare(ctx, call); o != nil {
		if o.timeout > 0 {
			timeout = o.timeout
		}
		if o.trailer != nil {
			defer func() { *o.trailer = call.Trailer }()
		}
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return next(ctx, call)
}

// named has the errors of next tell which call has failed.
func named(next rpc.Next) rpc.Next {
	return func(ctx context.Context, call *rpc.Call) error {
		err := next(ctx, call)
		if e, ok := err.(*rpc.Error); ok && e != nil && e.Method == "" { //nolint:errorlint // what is wrapped is somebody else's
			x := *e
			x.Method = cmp.Or(call.Service, call.Method.Service) + "/" + call.Method.Name
			err = &x
		}
		return err
	}
}

// Close takes no new calls, gives those in flight five seconds, and frees
// everything. It is idempotent and waits. It returns context.DeadlineExceeded if
// something was left after that time, as Shutdown does.
func (c *Client) Close() error {
	c.once.Do(c.start)
	if c.endpoint == nil {
		return nil
	}
	return c.endpoint.Close()
}

// Shutdown takes no new calls, which fail with Sent == NotSent, waits for
// those in flight until ctx ends, then fails them, and frees everything. It
// returns the cause of ctx if calls were left then, or requests that had not
// left, such as those of oneway calls.
func (c *Client) Shutdown(ctx context.Context) error {
	c.once.Do(c.start)
	if c.endpoint == nil {
		return nil
	}
	return c.endpoint.Shutdown(ctx)
}
