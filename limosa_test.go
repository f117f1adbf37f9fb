package limosa_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

func TestEveryPathAndForm(t *testing.T) {
	sock := "unix://" + filepath.Join(t.TempDir(), "s")
	for _, addr := range []string{"127.0.0.1:0", sock} {
		target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, addr)
		for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed, limosa.Buffered} {
			t.Run(fmt.Sprint(strings.HasPrefix(addr, "unix"), form), func(t *testing.T) {
				c := &limosa.Client{Target: target, Thrift: form}
				defer c.Close()
				var wg sync.WaitGroup
				for w := range 20 {
					wg.Go(func() {
						for i := range 50 {
							want := strings.Repeat(fmt.Sprint(w, i), 20)
							if got, err := call(t.Context(), c, echoMethod, want); err != nil || got != want {
								t.Errorf("echo = %q, %v", got, err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

func TestDialChecksItsTarget(t *testing.T) {
	for _, bad := range []string{"", "localhost", "etcd://x/y", "unix://", ":1?thrift=soap", ":1?color=red"} {
		if _, err := limosa.Dial(bad); rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Errorf("Dial(%q) = %v", bad, err)
		}
	}
	c, err := limosa.Dial("unix:/tmp/x?thrift=framed")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := call(t.Context(), c, echoMethod, ""); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.NotSent {
		t.Errorf("a call after Close: %v", err)
	}
}

func TestPortInUse(t *testing.T) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = limosa.Serve(t.Context(), l.Addr().String(), service(nil))
	if err == nil || !strings.Contains(err.Error(), "in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Serve = %v", err)
	}
}

func TestReconnect(t *testing.T) {
	sock := "unix://" + filepath.Join(t.TempDir(), "s")
	c := &limosa.Client{Target: sock}
	defer c.Close()
	_, err := call(t.Context(), c, echoMethod, "")
	if rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), "dial") {
		t.Fatalf("nobody listens: %v", err)
	}
	for range 2 {
		_, stop := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, sock)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for {
			got, err := call(ctx, c, echoMethod, "back")
			if err == nil && got == "back" {
				break
			}
			if !rpc.SentOf(err).Retryable() || ctx.Err() != nil {
				t.Fatalf("while reconnecting: %v", err)
			}
		}
		cancel()
		stop()
	}
}

// A rolling restart of the server fails no call.
func TestDrainLosesNoCall(t *testing.T) {
	sock := "unix://" + filepath.Join(t.TempDir(), "s")
	_, stop := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, sock)
	c := &limosa.Client{Target: sock}
	defer c.Close()
	var over atomic.Bool
	var calls, failed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for !over.Load() {
				_, err := call(t.Context(), c, echoMethod, "x")
				if err == nil {
					calls.Add(1)
				} else if !rpc.SentOf(err).Retryable() {
					failed.Add(1)
					t.Errorf("unsafe failure: %v", err)
					return
				}
			}
		})
	}
	for range 3 {
		before := calls.Load()
		for calls.Load() < before+500 && failed.Load() == 0 {
			call(t.Context(), c, echoMethod, "x")
		}
		stop()
		_, stop = start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, sock)
	}
	over.Store(true)
	wg.Wait()
}

func TestLocal(t *testing.T) {
	var seen atomic.Int32
	s := &limosa.Server{Services: []rpc.Service{service(nil)}, Interceptors: []rpc.Interceptor{
		func(ctx context.Context, c *rpc.Call, next rpc.Next) error { seen.Add(1); return next(ctx, c) },
	}}
	c := s.Caller()
	x := stub.NewCall[string, string](echoMethod, "Test")
	x.Args = "hi"
	if err := c.Do(t.Context(), &x.Call); err != nil || x.Result != "hi" || x.Trailer.Get("served-by") != "test" || seen.Load() != 1 {
		t.Errorf("echo = %q, %v, trailer %v, %d interceptions", x.Result, err, x.Trailer, seen.Load())
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := call(limosa.With(t.Context(), limosa.Timeout(time.Second)), c, waitMethod, "")
		if rpc.CodeOf(err) != rpc.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("wait = %v after %v", err, time.Since(start))
		}
	})
	other := &rpc.Method{Service: "Test", Name: "nowhere", Codec: text{}}
	if _, err := call(t.Context(), c, other, ""); rpc.CodeOf(err) != rpc.Unimplemented {
		t.Errorf("nowhere = %v", err)
	}
}

func TestOptionsAndMetadataTravel(t *testing.T) {
	far, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	next := &limosa.Client{Target: far}
	defer next.Close()
	near, _ := start(t, &limosa.Server{Services: []rpc.Service{service(next)}}, "127.0.0.1:0")
	c := &limosa.Client{Target: near}
	defer c.Close()
	ctx := limosa.With(t.Context(), limosa.Header("one-hop", "a"))
	ctx = limosa.With(ctx, limosa.Persistent("all-hops", "b"), limosa.Timeout(5*time.Second))
	if got, err := call(ctx, c, headMethod, ""); err != nil || got != "a/b /b" {
		t.Errorf("head = %q, %v", got, err)
	}
	if _, err := call(limosa.With(t.Context(), limosa.Header("limosa-x", "")), c, headMethod, ""); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("a reserved key: %v", err)
	}
}

func TestClientTimeoutAndInterceptors(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	var codes []rpc.Code
	c := &limosa.Client{Target: target, Timeout: 20 * time.Millisecond, Interceptors: []rpc.Interceptor{
		func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			err := next(ctx, c)
			codes = append(codes, rpc.CodeOf(err))
			return err
		},
	}}
	defer c.Close()
	_, err := call(t.Context(), c, waitMethod, "")
	if rpc.CodeOf(err) != rpc.DeadlineExceeded || len(codes) != 1 || codes[0] != rpc.DeadlineExceeded {
		t.Errorf("wait = %v, interceptor saw %v", err, codes)
	}
}

func TestGarbageCostsItsConnectionOnly(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	for _, junk := range [][]byte{
		bytes.Repeat([]byte{0xff}, 64), []byte("GET / HTTP/1.1\r\n\r\n"), {0x80, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0},
		{0x7f, 0xff, 0xff, 0xff, 0x80, 1, 0, 1, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0}, {0, 0, 0, 8, 0x80, 1, 0, 1, 0x7f, 0xff, 0xff, 0xff},
	} {
		nc, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		nc.Write(junk)
		nc.(*net.TCPConn).CloseWrite()
		nc.SetReadDeadline(time.Now().Add(5 * time.Second))
		var answer [512]byte
		for err == nil {
			_, err = nc.Read(answer[:])
		}
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Errorf("% x…: the connection stays open", junk[:8])
		}
		nc.Close()
	}
	c := &limosa.Client{Target: target}
	defer c.Close()
	if got, err := call(t.Context(), c, echoMethod, "alive"); err != nil || got != "alive" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

func TestSilentConnectionIsClosed(t *testing.T) {
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Limits: rpc.Limits{FirstBytes: 10 * time.Millisecond}}, "127.0.0.1:0")
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err = nc.Read(make([]byte, 1))
	if ne, ok := errors.AsType[net.Error](err); err == nil || ok && ne.Timeout() {
		t.Errorf("Read = %v", err)
	}
}

func TestTwoServicesOfOneNameAreRefused(t *testing.T) {
	err := limosa.Serve(t.Context(), "127.0.0.1:0", service(nil), service(nil))
	if rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("Serve = %v", err)
	}
}

// TestMistakesInSettings: what is wrong with a server or a client is told at
// once, and named.
func TestMistakesInSettings(t *testing.T) {
	listen := func() *netio.Listener {
		l, err := limosa.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	near := func(s *limosa.Server) error {
		s.Services = []rpc.Service{service(nil)}
		_, err := call(t.Context(), s.Caller(), echoMethod, "")
		return err
	}
	for what, err := range map[string]error{
		"no listener":                  new(limosa.Server).Serve(t.Context()),
		"a listener is nil":            new(limosa.Server).Serve(t.Context(), listen(), nil),
		"a listener takes no settings": limosa.Serve(t.Context(), "127.0.0.1:0?thrift=framed"),
		"unix:///tmp/x":                limosa.Serve(t.Context(), "unix://tmp/x"),
		"unknown scheme":               limosa.Serve(t.Context(), "http://127.0.0.1:0"),
		"Limits.Conns":                 (&limosa.Server{Limits: rpc.Limits{Conns: -5}}).Serve(t.Context(), listen()),
		"Drain is -1s":                 (&limosa.Server{Drain: -time.Second}).Serve(t.Context(), listen()),
		"Limits.Silence":               clientError(t, &limosa.Client{Limits: rpc.Limits{Silence: -1}}),
		"timeout is below":             clientError(t, &limosa.Client{StreamTimeout: -1}),
		"Limits.Depth":                 near(&limosa.Server{Limits: rpc.Limits{Depth: -1}}),
		"Timeout is below":             near(&limosa.Server{Timeout: -1}),
		"an interceptor is nil":        near(&limosa.Server{Interceptors: []rpc.Interceptor{nil}}),
		"Form(77)":                     clientError(t, &limosa.Client{Thrift: 77}),
	} {
		if rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWhatCallersAreNotToldIsLogged: an error or a panic that leaves as "internal
// error" and an id stands in the log under that id, whether a Logger is set or not.
func TestWhatCallersAreNotToldIsLogged(t *testing.T) {
	var own, other syncBuffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&other, nil)))
	for name, tt := range map[string]struct {
		log  *slog.Logger
		into *syncBuffer
	}{"own": {slog.New(slog.NewTextHandler(&own, nil)), &own}, "default": {nil, &other}} {
		fail := func(_ context.Context, c *rpc.Call, _ rpc.Next) error {
			if c.Header.Get("how") == "panic" {
				panic("secret 1234")
			}
			return errors.New("secret 1234")
		}
		s := &limosa.Server{Services: []rpc.Service{service(nil)}, Interceptors: []rpc.Interceptor{fail}, Logger: tt.log}
		target, stop := start(t, s, "127.0.0.1:0")
		c := &limosa.Client{Target: target}
		for way, to := range map[string]rpc.Caller{"wire": c, "local": s.Caller()} {
			for _, how := range []string{"error", "panic"} {
				_, err := call(limosa.With(t.Context(), limosa.Header("how", how)), to, echoMethod, "")
				_, id, ok := strings.Cut(fmt.Sprint(err), "internal error ")
				if log := tt.into.take(); !ok || strings.Contains(id, "1234") || !strings.Contains(log, "id="+id) || !strings.Contains(log, "secret 1234") {
					t.Errorf("%s %s %s: %v, logged %q", name, way, how, err, log)
				}
			}
		}
		c.Close()
		stop()
	}
}

// A syncBuffer takes what several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// TestPeerThatSpeaksSomethingElse: a call that a peer leaves without an answer,
// as most do with what they do not understand, asks what the peer speaks, until
// one was answered.
func TestPeerThatSpeaksSomethingElse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			nc.Read(make([]byte, 1<<10))
			nc.Close()
		}
	}()
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
		c := &limosa.Client{Target: l.Addr().String(), Thrift: form}
		_, err := call(t.Context(), c, echoMethod, "")
		if rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Maybe || !strings.Contains(err.Error(), "does it speak "+form.String()+"?") {
			t.Errorf("%v: %v", form, err)
		}
		c.Close()
	}
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	defer stop()
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
		c := &limosa.Client{Target: target, Thrift: form}
		if _, err := call(t.Context(), c, echoMethod, ""); err != nil {
			t.Error(err)
		}
		_, err := call(limosa.With(t.Context(), limosa.Timeout(time.Millisecond)), c, waitMethod, "")
		if rpc.CodeOf(err) != rpc.DeadlineExceeded || strings.Contains(err.Error(), "speak") {
			t.Errorf("%v, and the peer had answered: %v", form, err)
		}
		c.Close()
	}
}

// TestIdempotentCallsAreTriedAgain: a call whose connection was lost may have
// been served; it is made again only if its method says that this does no harm.
func TestIdempotentCallsAreTriedAgain(t *testing.T) {
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	defer stop()
	for _, idempotent := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var relays sync.WaitGroup
		relays.Go(func() {
			for n := 1; ; n++ {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				if n == 1 { // takes the call, and is gone
					nc.Read(make([]byte, 1<<10))
					nc.Close()
					continue
				}
				to, err := net.Dial("tcp", target)
				if err != nil {
					t.Error(err)
					return
				}
				relays.Go(func() { io.Copy(to, nc); to.Close() })
				relays.Go(func() { io.Copy(nc, to); nc.Close() })
			}
		})
		m := &rpc.Method{Service: "Test", Name: "echo", Idempotent: idempotent, Codec: text{}, New: stub.New[string, string]}
		c := &limosa.Client{Target: l.Addr().String(), Thrift: limosa.Framed}
		got, err := call(t.Context(), c, m, "once more")
		if idempotent && (err != nil || got != "once more") || !idempotent && (rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Maybe) {
			t.Errorf("idempotent %v: %q, %v", idempotent, got, err)
		}
		c.Close()
		l.Close()
		relays.Wait()
	}
}

// clientError is what a client's call fails with.
func clientError(t *testing.T, c *limosa.Client) error {
	c.Target = "127.0.0.1:1"
	defer c.Close()
	_, err := call(t.Context(), c, echoMethod, "")
	return err
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	s := &limosa.Server{Services: []rpc.Service{service(nil)}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}
	target, _ := start(t, s, "127.0.0.1:0")
	c := &limosa.Client{Target: target, TLS: &tls.Config{RootCAs: pool}}
	defer c.Close()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			want := strings.Repeat(fmt.Sprint(w), 5000)
			for range 20 {
				if got, err := call(t.Context(), c, echoMethod, want); err != nil || got != want {
					t.Errorf("echo = %.20q, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	strange := &limosa.Client{Target: target, TLS: &tls.Config{RootCAs: x509.NewCertPool()}}
	defer strange.Close()
	if _, err := call(t.Context(), strange, echoMethod, ""); rpc.CodeOf(err) != rpc.Unavailable || !strings.Contains(err.Error(), "TLS handshake") {
		t.Errorf("an unknown authority: %v", err)
	}
	plain := &limosa.Client{Target: target, Timeout: 5 * time.Second}
	defer plain.Close()
	if _, err := call(t.Context(), plain, echoMethod, ""); rpc.CodeOf(err) != rpc.Unavailable {
		t.Errorf("without TLS: %v", err)
	}
}

func TestAnyListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	s := &limosa.Server{Services: []rpc.Service{service(nil)}}
	go func() { done <- s.Serve(ctx, netio.NewListener(inner, nil)) }()
	c := &limosa.Client{Target: inner.Addr().String()}
	defer c.Close()
	if got, err := call(t.Context(), c, echoMethod, "x"); err != nil || got != "x" {
		t.Errorf("echo = %q, %v", got, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// A listener has no settings: what a connection speaks is found out.
func TestListenTakesNoSettings(t *testing.T) {
	l, err := limosa.Listen("127.0.0.1:0?thrift=framed")
	if rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("Listen = %v", err)
	}
	if err == nil {
		l.Close()
	}
}

// What came instead of a protocol is quoted, to be recognised.
func TestWhatCameInstead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			nc.Read(make([]byte, 1000))
			nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			nc.(*net.TCPConn).CloseWrite()
			defer nc.Close()
		}
	}()
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
		c := &limosa.Client{Target: l.Addr().String(), Thrift: form}
		if _, err := call(t.Context(), c, echoMethod, ""); err == nil || !strings.Contains(err.Error(), `"HTTP/1.1 400 Bad Request`) {
			t.Errorf("%v: %v", form, err)
		}
		c.Close()
	}

	var log bytes.Buffer
	target, stop := start(t, &limosa.Server{
		Services: []rpc.Service{service(nil)},
		Logger:   slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, "127.0.0.1:0")
	nc, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	nc.Write([]byte("GET /shop/orders HTTP/1.1\r\n"))
	io.Copy(io.Discard, nc)
	nc.Close()
	stop()
	if got := log.String(); !strings.Contains(got, "GET /shop/orders HTTP/1.1") {
		t.Error(got)
	}
}
