package limosa_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// gone is an exception that lookup declares.
type gone struct{ key string }

func (e *gone) Error() string { return "gone: " + e.key }

// found is the result of lookup.
type found struct {
	value *string
	gone  *gone
}

// foundCodec writes a letter for what a result holds; arguments are strings.
type foundCodec struct{}

func (foundCodec) Append(out *buf.Out, msg any) error {
	switch m := msg.(type) {
	case *string:
		out.AppendString("s" + *m)
	case *found:
		switch {
		case m.value != nil:
			out.AppendString("v" + *m.value)
		case m.gone != nil:
			out.AppendString("g" + m.gone.key)
		}
	}
	return nil
}

func (foundCodec) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	b := string(body.Bytes())
	if b == "" {
		return nil
	}
	switch m := msg.(type) {
	case *string:
		*m = b[1:]
	case *found:
		if b[0] == 'g' {
			m.gone = &gone{b[1:]}
		} else {
			m.value = new(b[1:])
		}
	}
	return nil
}

var lookup = newLookup()

// newLookup describes lookup: each server has its own, which counts what it logs.
func newLookup() *rpc.Method {
	return &rpc.Method{
		Service: "Book", Name: "lookup", Codec: foundCodec{}, New: stub.New[string, found],
		Except: func(result any, err error) bool {
			r := result.(*found)
			return errors.As(err, &r.gone) && r.gone != nil
		},
		Raise: func(result any) error {
			switch r := result.(*found); {
			case r.gone != nil:
				return r.gone
			case r.value == nil:
				return &rpc.Error{Code: rpc.Internal, Op: "decode response", Msg: "no result", Sent: rpc.Processed}
			}
			return nil
		},
	}
}

// book has a way to fail for each argument.
func book() rpc.Service { return bookUntil(nil) }

// bookUntil is a book in which who is late waits for an end.
func bookUntil(end <-chan struct{}) rpc.Service {
	return rpc.Service{Name: "Book", Methods: []rpc.Handler{{Method: newLookup(), Serve: func(ctx context.Context, c *rpc.Call) error {
		args, err := stub.Args[string](c)
		if err != nil {
			return err
		}
		c.Trailer.Add("seen", *args)
		switch *args {
		case "declared":
			return fmt.Errorf("wrapped: %w", &gone{"k"})
		case "nothing":
			return nil
		case "panic":
			panic("secret")
		case "foreign":
			return errors.New("secret")
		case "hop":
			return fmt.Errorf("asked another: %w", &rpc.Error{Code: rpc.NotFound, Peer: "10.0.0.9:1", Msg: "secret", Remote: true})
		case "op":
			return &rpc.Error{Code: rpc.NotFound, Op: "lookup", Msg: "no such key", Details: rpc.Metadata{{Key: "key", Value: "k"}}}
		case "wrapped":
			return fmt.Errorf("secret: %w", rpc.Errorf(rpc.Aborted, "try again"))
		case "exit":
			runtime.Goexit()
		case "late":
			<-end
		case "wait":
			<-ctx.Done()
			return ctx.Err()
		}
		stub.Result[found](c).value = args
		return nil
	}}}}
}

// seen is what an interceptor saw of a call.
type seen struct {
	method, asked string
	code          rpc.Code
	msg           string
	declared      bool
}

type witness struct {
	mu  sync.Mutex
	all []seen
}

func (w *witness) intercept(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	err := next(ctx, c)
	s := seen{method: c.Method.Name, asked: c.Asked, code: rpc.CodeOf(err), declared: c.Declared(err)}
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		s.msg = e.Msg
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, s)
	return err
}

func (w *witness) take() (all []seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, w.all = w.all, nil
	return all
}

// eachPath runs f over a connection and in the process.
func eachPath(t *testing.T, s *limosa.Server, f func(t *testing.T, path string, c rpc.Caller)) {
	target, _ := start(t, s, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	f(t, "wire", c)
	f(t, "local", s.Caller())
}

// TestInterceptorsSeeWhatCallersAreTold: the code, the words and the kind of each
// outcome are the same behind next, on the server, as on the client; and what a
// handler has put into the trailer arrives with its failure too.
func TestInterceptorsSeeWhatCallersAreTold(t *testing.T) {
	var w witness
	var log syncBuffer
	outer := func(ctx context.Context, c *rpc.Call, next rpc.Next) error { return next(ctx, c) }
	s := &limosa.Server{Services: []rpc.Service{book()}, Interceptors: []rpc.Interceptor{outer, w.intercept}, Logger: textLog(&log)}
	eachPath(t, s, func(t *testing.T, path string, c rpc.Caller) {
		for arg, want := range map[string]seen{
			"x":        {code: rpc.OK},
			"declared": {code: rpc.Unknown, declared: true},
			"nothing":  {code: rpc.Internal, msg: "internal error"},
			"panic":    {code: rpc.Internal, msg: "internal error"},
			"foreign":  {code: rpc.Internal, msg: "internal error"},
			"hop":      {code: rpc.Internal, msg: "internal error"},
			"op":       {code: rpc.NotFound, msg: "no such key"},
			"wrapped":  {code: rpc.Aborted, msg: "try again"},
		} {
			x := stub.NewCall[string, found](lookup, "Book")
			x.Args = arg
			err := c.Do(t.Context(), &x.Call)
			all := w.take()
			if len(all) != 1 {
				t.Errorf("%s %s: the interceptor saw %v", path, arg, all)
				continue
			}
			got := all[0]
			told, _ := errors.AsType[*rpc.Error](err)
			if got.code != want.code || !strings.HasPrefix(got.msg, want.msg) || got.declared != want.declared {
				t.Errorf("%s %s: the interceptor saw %+v", path, arg, got)
			}
			if rpc.CodeOf(err) != got.code || told != nil && told.Msg != got.msg || x.Declared(err) != got.declared {
				t.Errorf("%s %s: the caller was told %v, the interceptor saw %+v", path, arg, err, got)
			}
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("%s %s: the caller was told %v", path, arg, err)
			}
			if x.Trailer.Get("seen") != arg {
				t.Errorf("%s %s: trailer %v", path, arg, x.Trailer)
			}
			if arg == "op" && (told == nil || told.Details.Get("key") != "k") && path == "wire" {
				t.Errorf("%s: details of %v: %v", path, err, told.Details)
			}
			if out := log.take(); strings.Count(out, "id=") != strings.Count(got.msg, "internal error") {
				t.Errorf("%s %s: logged %q", path, arg, out)
			}
		}
	})
}

// TestInterceptorsSeeRefusedCalls: unknown services and methods, calls of another kind
// and calls beyond the server's limit pass the interceptors, who can say something
// else, but not that all is well.
func TestInterceptorsSeeRefusedCalls(t *testing.T) {
	var w witness
	guard := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		switch err := next(ctx, c); {
		case c.Header.Get("forgive") != "":
			return nil
		case c.Header.Get("hide") != "":
			return rpc.Unauthenticated
		default:
			return err
		}
	}
	s := &limosa.Server{Services: []rpc.Service{book()}, Interceptors: []rpc.Interceptor{guard, w.intercept}}
	eachPath(t, s, func(t *testing.T, path string, c rpc.Caller) {
		for _, kind := range []rpc.Kind{rpc.Unary, rpc.Bidi} {
			for header, want := range map[string]rpc.Code{"": rpc.Unimplemented, "forgive": rpc.Unimplemented, "hide": rpc.Unauthenticated} {
				m := &rpc.Method{Service: "Nobody", Name: "knows", Kind: kind, Codec: foundCodec{}}
				x := stub.NewCall[string, found](m, "Nobody")
				if header != "" {
					x.Header.Add(header, "1")
				}
				err := stub.Converse(t.Context(), c, &x.Call, func(_ context.Context, s rpc.Stream) error {
					if err := s.Send(new(string)); err != nil {
						return err
					}
					return s.Receive(new(found))
				})
				if rpc.CodeOf(err) != want || rpc.SentOf(err) != rpc.Refused && kind == rpc.Unary {
					t.Errorf("%s %v %q: %v, %v", path, kind, header, err, rpc.SentOf(err))
				}
				if all := w.take(); !slices.Equal(all, []seen{{method: "knows", asked: "Nobody", code: rpc.Unimplemented, msg: all[0].msg}}) {
					t.Errorf("%s %v %q: the interceptor saw %+v", path, kind, header, all)
				}
			}
		}
	})
}

// An interceptor that ends its goroutine, as t.Fatal does, costs a refused call only.
func TestRefusedCallThatExits(t *testing.T) {
	exit := func(context.Context, *rpc.Call, rpc.Next) error { runtime.Goexit(); return nil }
	s := &limosa.Server{Services: []rpc.Service{book()}, Interceptors: []rpc.Interceptor{exit}, Logger: textLog(new(syncBuffer))}
	target, _ := start(t, s, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, kind := range []rpc.Kind{rpc.Unary, rpc.ServerStream, rpc.Unary} {
		x := stub.NewCall[string, found](&rpc.Method{Service: "Book", Name: "unknown", Kind: kind, Codec: foundCodec{}}, "Book")
		err := stub.Converse(ctx, c, &x.Call, func(_ context.Context, s rpc.Stream) error {
			if err := s.Send(new(string)); err != nil {
				return err
			}
			return s.Receive(new(found))
		})
		if rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// TestServerDeadlines: a call without a deadline has the server's, one with a long
// deadline the server's maximum.
func TestServerDeadlines(t *testing.T) {
	for name, s := range map[string]*limosa.Server{"default": {Timeout: 30 * time.Millisecond}, "maximum": {Limits: rpc.Limits{CallTime: 30 * time.Millisecond}}} {
		s.Services = []rpc.Service{book()}
		eachPath(t, s, func(t *testing.T, path string, c rpc.Caller) {
			ctx := t.Context()
			if name == "maximum" {
				ctx = limosa.With(ctx, limosa.Timeout(time.Minute))
			}
			x := stub.NewCall[string, found](lookup, "Book")
			x.Args = "wait"
			begun := time.Now()
			err := c.Do(ctx, &x.Call)
			if rpc.CodeOf(err) != rpc.DeadlineExceeded || time.Since(begun) > 20*time.Second {
				t.Errorf("%s %s: %v after %v", name, path, err, time.Since(begun))
			}
			if want := "DeadlineExceeded: Book/lookup at "; !strings.HasPrefix(fmt.Sprint(err), want) {
				t.Errorf("%s %s: %v", name, path, err)
			}
		})
	}
}

// TestPeerInfo: a handler can ask who calls.
func TestPeerInfo(t *testing.T) {
	told := make(chan rpc.PeerInfo, 1)
	ask := func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		told <- c.PeerInfo()
		return next(ctx, c)
	}
	var got rpc.PeerInfo
	call := func(c rpc.Caller) {
		t.Helper()
		x := stub.NewCall[string, found](lookup, "Book")
		if err := c.Do(t.Context(), &x.Call); err != nil {
			t.Error(err)
		}
		got = <-told
	}
	cert, pool := certificate(t)
	s := &limosa.Server{Services: []rpc.Service{book()}, Interceptors: []rpc.Interceptor{ask}}
	call(s.Caller())
	if got.Addr != nil || got.TLS != nil || got.Unix != nil || got.Identity() != nil {
		t.Errorf("in this process: %+v", got)
	}
	for _, loops := range []int{0, 1} {
		if loops > 0 && runtime.GOOS != "linux" {
			continue
		}
		l, err := netio.Listen("unix", filepath.Join(t.TempDir(), "s"), &netio.Config{Loops: loops})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- (&limosa.Server{Services: []rpc.Service{book()}, Interceptors: []rpc.Interceptor{ask}}).Serve(ctx, l)
		}()
		unix, err := limosa.Dial("unix://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		call(unix)
		if runtime.GOOS == "linux" && (got.Unix == nil || got.Unix.PID != os.Getpid() || int(got.Unix.UID) != os.Getuid() || int(got.Unix.GID) != os.Getgid()) {
			t.Errorf("over a unix socket, loops %d: %+v", loops, got.Unix)
		}
		unix.Close()
		cancel()
		<-done
	}
	secured := &limosa.Server{
		Services: []rpc.Service{book()}, Interceptors: []rpc.Interceptor{ask},
		TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool},
	}
	target, _ := start(t, secured, "127.0.0.1:0")
	c, err := limosa.Dial("tls://"+strings.TrimPrefix(target, "tcp://"), func(c *limosa.Client) {
		c.TLS = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call(c)
	if who := got.Identity(); who == nil || got.Addr == nil || got.Unix != nil || !slices.Equal(who.Raw, cert.Certificate[0]) {
		t.Errorf("with a certificate: %+v", got)
	}
}

// TestDialOptions: what a program sets, and what it may not.
func TestDialOptions(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{book()}}, "127.0.0.1:0")
	var w witness
	c, err := limosa.Dial(target, func(c *limosa.Client) {
		c.Timeout, c.Interceptors = 30*time.Millisecond, []rpc.Interceptor{w.intercept}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := stub.NewCall[string, found](lookup, "Book")
	x.Args = "wait"
	if err := c.Do(t.Context(), &x.Call); rpc.CodeOf(err) != rpc.DeadlineExceeded || len(w.take()) != 1 {
		t.Errorf("wait: %v", err)
	}
	for what, opt := range map[string]limosa.DialOption{
		"an interceptor is nil": func(c *limosa.Client) { c.Interceptors = []rpc.Interceptor{nil} },
		"timeout":               func(c *limosa.Client) { c.Timeout = -1 },
	} {
		if _, err := limosa.Dial(target, opt); rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(fmt.Sprint(err), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTrailerOption: the metadata of an answer, for who has only the generated method.
func TestTrailerOption(t *testing.T) {
	eachPath(t, &limosa.Server{Services: []rpc.Service{book()}}, func(t *testing.T, path string, c rpc.Caller) {
		for _, arg := range []string{"x", "op"} {
			var md rpc.Metadata
			x := stub.NewCall[string, found](lookup, "Book")
			x.Args = arg
			c.Do(limosa.With(t.Context(), limosa.Trailer(&md)), &x.Call)
			if md.Get("seen") != arg {
				t.Errorf("%s %s: %v", path, arg, md)
			}
		}
	})
}

// TestOneSideSpeaksTLS: each side is told what is wrong.
func TestOneSideSpeaksTLS(t *testing.T) {
	cert, pool := certificate(t)
	secured, _ := start(t, &limosa.Server{Services: []rpc.Service{book()}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, "127.0.0.1:0")
	open, _ := start(t, &limosa.Server{Services: []rpc.Service{book()}}, "127.0.0.1:0")
	foreign, err := net.Listen("tcp", "127.0.0.1:0") // answers a TLS hello in words of its own
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	go func() {
		for {
			nc, err := foreign.Accept()
			if err != nil {
				return
			}
			nc.Write([]byte("220 mail ready\r\n"))
			defer nc.Close()
		}
	}()
	for name, tt := range map[string]struct {
		c    *limosa.Client
		want string
	}{
		"ttheader": {&limosa.Client{Target: secured}, "the peer speaks TLS"},
		"framed":   {&limosa.Client{Target: secured, Thrift: limosa.Framed}, "the peer speaks TLS"},
		"buffered": {&limosa.Client{Target: secured, Thrift: limosa.Buffered}, "the peer speaks TLS"},
		"theader":  {&limosa.Client{Target: secured, Thrift: limosa.THeader}, "the peer speaks TLS"},
		"plain":    {&limosa.Client{Target: open, TLS: &tls.Config{RootCAs: pool}}, "does it speak TLS?"},
		"foreign":  {&limosa.Client{Target: foreign.Addr().String(), TLS: &tls.Config{RootCAs: pool}}, "the peer does not speak TLS"},
	} {
		x := stub.NewCall[string, found](lookup, "Book")
		err := tt.c.Do(t.Context(), &x.Call)
		if rpc.CodeOf(err) != rpc.Unavailable || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		tt.c.Close()
	}
}

// TestPanicsAreReadable: a line for each frame of the handler, not one of thousands of
// characters.
func TestPanicsAreReadable(t *testing.T) {
	var log syncBuffer
	s := &limosa.Server{Services: []rpc.Service{book()}, Logger: lineLog(&log)}
	x := stub.NewCall[string, found](lookup, "Book")
	x.Args = "panic"
	s.Caller().Do(t.Context(), &x.Call)
	lines := strings.Split(strings.TrimSpace(log.take()), "\n")
	if len(lines) < 3 || !strings.Contains(lines[1], "truth_test.go:") {
		t.Errorf("%q", lines)
	}
	for _, l := range lines {
		if len(l) > 400 {
			t.Errorf("a line of %d characters", len(l))
		}
	}
}

func textLog(w *syncBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// lineLog writes messages as package log does, which is what slog.Default is.
func lineLog(w *syncBuffer) *slog.Logger { return slog.New(lines{w}) }

type lines struct{ w *syncBuffer }

func (lines) Enabled(context.Context, slog.Level) bool { return true }
func (h lines) Handle(_ context.Context, r slog.Record) error {
	fmt.Fprint(h.w, r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprint(h.w, " ", a); return true })
	return nil
}
func (h lines) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h lines) WithGroup(string) slog.Handler      { return h }
