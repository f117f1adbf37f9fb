package limosa_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// TestStreamsOnEveryPath: what a user sees is the same over TCP, over a unix
// socket, in this process, and through a proxy.
func TestStreamsOnEveryPath(t *testing.T) {
	tcp, stop := start(t, &limosa.Server{Services: []rpc.Service{streams(nil)}}, "127.0.0.1:0")
	defer stop()
	unix, stopUnix := start(t, &limosa.Server{Services: []rpc.Service{streams(nil)}}, "unix://"+filepath.Join(t.TempDir(), "s"))
	defer stopUnix()
	backend, err := limosa.Dial(tcp)
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	proxy, stopProxy := start(t, &limosa.Server{Services: []rpc.Service{streams(backend)}}, "127.0.0.1:0")
	defer stopProxy()
	before := buf.Live()
	for name, target := range map[string]string{"tcp": tcp, "unix": unix, "local": "", "proxy": proxy} {
		t.Run(name, func(t *testing.T) {
			c := limosa.Local(streams(nil))
			if target != "" {
				client, err := limosa.Dial(target)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				c = client
			}
			streamHistory(t, c)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { streamHistory(t, c) })
			}
			wg.Wait()
		})
	}
	// The proxy's connection may hold a part of what it no longer waits for.
	stopProxy()
	backend.Close()
	stop()
	stopUnix()
	waitFor(t, "blocks", func() (int, bool) { n := buf.Live(); return int(n - before), n <= before })
}

func streamHistory(t *testing.T, c rpc.Caller) {
	t.Helper()
	ctx := t.Context()
	for _, n := range []int{0, 1, 1000} {
		i := 0
		for s, err := range tally(ctx, c, n) {
			if err != nil || *s != fmt.Sprint("m", i) {
				t.Errorf("count %d: message %d is %v, %v", n, i, s, err)
				return
			}
			i++
		}
		if i != n {
			t.Errorf("count %d: %d messages", n, i)
		}
		x := stub.NewCall[string, string](joinMethod, "Test")
		want := 0
		for s := range words(n) {
			want += len(*s)
		}
		if got, err := stub.Gather[string, string](ctx, c, &x.Call, words(n)); err != nil || *got != fmt.Sprint(want) {
			t.Errorf("join %d: %v, %v", n, got, err)
		}
		if by := x.Trailer.Get("served-by"); by != "join" {
			t.Errorf("join %d: trailer %q", n, by)
		}
		i = 0
		for s, err := range talk(ctx, c, words(n)) {
			if err != nil || *s != fmt.Sprint("w", i, "!") {
				t.Errorf("chat %d: answer %d is %v, %v", n, i, s, err)
				return
			}
			i++
		}
		if i != n {
			t.Errorf("chat %d: %d answers", n, i)
		}
	}
	var last error
	i := 0
	for _, err := range tally(ctx, c, 1001) {
		if last = err; err == nil {
			i++
		}
	}
	if i != 1000 || rpc.CodeOf(last) != rpc.OutOfRange || !strings.Contains(last.Error(), "no more than 1000") {
		t.Errorf("count 1001: %d messages, then %v", i, last)
	}
	i = 0
	for _, err := range tally(ctx, c, 1000) { // left early
		if err != nil {
			t.Error(err)
		}
		if i++; i == 3 {
			break
		}
	}
	own := errors.New("my own")
	for _, err := range talk(ctx, c, func(yield func(*string, error) bool) { yield(nil, own) }) {
		last = err
	}
	if !errors.Is(last, own) {
		t.Errorf("chat of a failing sequence: %v", last)
	}
	if p := panicOf(func() {
		for range talk(ctx, c, func(yield func(*string, error) bool) { yield(new("first"), nil); panic("my own") }) {
		}
	}); p != "my own" {
		t.Errorf("chat of a sequence that panics: %v", p)
	}
	for _, err := range talk(ctx, c, nil) {
		last = err
	}
	if rpc.CodeOf(last) != rpc.InvalidArgument || rpc.SentOf(last) != rpc.NotSent {
		t.Errorf("chat of no sequence: %v", last)
	}
	for _, err := range talk(ctx, c, func(func(*string, error) bool) { runtime.Goexit() }) {
		last = err
	}
	if rpc.CodeOf(last) != rpc.Internal || !strings.Contains(last.Error(), "goroutine") {
		t.Errorf("chat of a sequence that ends its goroutine: %v", last)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	for _, err := range talk(short, c, func(func(*string, error) bool) { <-short.Done() }) {
		last = err
	}
	if rpc.CodeOf(last) != rpc.DeadlineExceeded {
		t.Errorf("chat beyond its deadline: %v", last)
	}
	x := stub.NewCall[string, string](&rpc.Method{Service: "Test", Name: "nothing", Kind: rpc.ServerStream, Codec: text{}, New: stub.New[string, string]}, "Test")
	for _, err := range stub.Incoming[string](ctx, c, &x.Call) {
		last = err
	}
	if rpc.CodeOf(last) != rpc.Unimplemented {
		t.Errorf("a stream that nobody serves: %v", last)
	}
	if got, err := call(ctx, c, echoMethod, "beside"); err != nil || got != "beside" {
		t.Errorf("a call beside: %q, %v", got, err)
	}
}

// panicOf is what f panics with.
func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// TestStreamsNeedTTHeader: other forms cannot carry them, and say so at once.
func TestStreamsNeedTTHeader(t *testing.T) {
	tcp, stop := start(t, &limosa.Server{Services: []rpc.Service{streams(nil)}}, "127.0.0.1:0")
	defer stop()
	c := &limosa.Client{Target: tcp, Thrift: limosa.Framed}
	defer c.Close()
	for _, err := range tally(t.Context(), c, 1) {
		if rpc.CodeOf(err) != rpc.Unimplemented || !strings.Contains(err.Error(), "framed") {
			t.Errorf("framed: %v", err)
		}
	}
}

// BenchmarkChat exchanges messages on one stream, both ends in this process.
func BenchmarkChat(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- (&limosa.Server{Services: []rpc.Service{streams(nil)}}).Serve(ctx, l) }()
	c, err := limosa.Dial(l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("x", 1024)
	b.ReportAllocs()
	b.ResetTimer()
	for _, err := range talk(ctx, c, func(yield func(*string, error) bool) {
		for range b.N {
			if !yield(&text, nil) {
				return
			}
		}
	}) {
		if err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	cancel()
	<-served
}
