package relay_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/relay"
)

// Both directions carry large, mixed traffic at the same time, whole and in
// order, and end one after the other.
func TestRelay(t *testing.T) {
	size := 3 << 20
	if nettest.Pooless() {
		size = 1 << 20
	}
	kinds := pairings()
	for _, tt := range []struct{ left, right string }{
		{"tcp", "tcp"}, {"unix", "tcp"}, {"unix", "unix"}, {"tls", "tcp"}, {"tcp", "tls"}, {"plain", "tcp"}, {"pipe", "pipe"}, {"unix", "pipe"}, {"tls", "plain"},
	} {
		t.Run(tt.left+"-"+tt.right, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds[tt.left], kinds[tt.right])
			done := l.relay(t.Context())
			up, down := noise(1, size), noise(2, size/3)
			var wg sync.WaitGroup
			move := func(nc net.Conn, out, want []byte, seed uint64) {
				wg.Go(func() {
					if err := sendPieces(nc, out, seed); err != nil {
						t.Error("send:", err)
					}
				})
				wg.Go(func() {
					got, err := io.ReadAll(nc)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("received %d bytes, want %d; %v", len(got), len(want), err)
					}
				})
			}
			client, server := l.peers()
			move(client, up, down, 1)
			move(server, down, up, 2)
			wg.Wait()
			r := await(t, "Relay", done)
			if want := (relay.Moved{AToB: int64(len(up)), BToA: int64(len(down))}); r.Moved != want || r.err != nil {
				t.Errorf("Relay = %+v, %v; want %+v", r.Moved, r.err, want)
			}
		})
	}
}

// The end of one side goes on after its data; the other direction works on.
func TestRelayHalfClose(t *testing.T) {
	for name, kind := range pairings() {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				leakless(t)
				l := joined(t, kind, kind)
				done := l.relay(t.Context())
				client, server := l.peers()
				client.Write([]byte("question"))
				client.(interface{ CloseWrite() error }).CloseWrite()
				if got, err := io.ReadAll(server); string(got) != "question" || err != nil {
					t.Fatalf("the server got %q, %v", got, err)
				}
				answer := noise(3, 100_000)
				go func() {
					server.Write(answer)
					server.(interface{ CloseWrite() error }).CloseWrite()
				}()
				if got, err := io.ReadAll(client); !bytes.Equal(got, answer) || err != nil {
					t.Fatalf("the client got %d bytes, %v", len(got), err)
				}
				if r := await(t, "Relay", done); r.err != nil || r.Moved != (relay.Moved{AToB: 8, BToA: 100_000}) {
					t.Fatalf("Relay = %+v", r)
				}
			}
		})
	}
}

// What was received before, and what was queued before, goes first.
func TestRelayWhatWasThere(t *testing.T) {
	kinds := pairings()
	for _, name := range []string{"tcp", "unix", "tls", "pipe", "plain"} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds[name], kinds[name])
			client, server := l.peers()
			client.Write([]byte("helloworld"))
			for {
				var got []byte
				why, err := l.in.Receive(false, func(in *buf.In) (bool, error) {
					if in.Len() < 10 {
						return true, nil
					}
					got = in.Next(5)
					return false, nil
				})
				if why == netio.Enough && string(got) == "hello" {
					break
				}
				t.Fatal(why, err)
			}
			o := l.out.Output()
			o.Lock()
			o.Out().AppendString("hallo")
			if !o.Unlock() {
				t.Fatal("not the flusher")
			}
			if err := o.Flush(); err != nil {
				t.Fatal(err)
			}
			done := l.relay(t.Context())
			client.Write([]byte("!"))
			client.(interface{ CloseWrite() error }).CloseWrite()
			if got, err := io.ReadAll(server); string(got) != "halloworld!" || err != nil {
				t.Fatalf("the server got %q, %v", got, err)
			}
			server.(interface{ CloseWrite() error }).CloseWrite()
			if r := await(t, "Relay", done); r.err != nil || r.AToB != 6 {
				t.Fatalf("Relay = %+v", r)
			}
		})
	}
}

// Small messages are copied, bulk is spliced, and where there are no pipes
// everything is copied.
func TestRelayPipes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pipes are for Linux")
	}
	kinds := pairings()
	for name, most := range map[string]int{"default": 0, "one": 1, "none": -1} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds["tcp"], kinds["unix"])
			l.pipes.Max = most
			done := l.relay(t.Context())
			client, server := l.peers()
			small := noise(4, 1000)
			got := make([]byte, len(small))
			for range 10 {
				client.Write(small)
				if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, small) {
					t.Fatal(err)
				}
			}
			if n := l.pipes.Open(); n != 0 {
				t.Errorf("%d pipes for small messages", n)
			}
			large := noise(5, 4<<20)
			go func() {
				client.Write(large)
				client.(interface{ CloseWrite() error }).CloseWrite()
			}()
			if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, large) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if n := l.pipes.Open(); (n > 0) != (most >= 0) {
				t.Errorf("%d pipes for bulk, at most %d", n, most)
			}
			server.(interface{ CloseWrite() error }).CloseWrite()
			if r := await(t, "Relay", done); r.err != nil {
				t.Error(r.err)
			}
		})
	}
}

// Stale kicks and wakes, from before the relay and during it, disturb nothing.
func TestRelayKicked(t *testing.T) {
	for name, kind := range pairings() {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kind, kind)
			l.in.Kick()
			l.out.Kick()
			done := l.relay(t.Context())
			client, server := l.peers()
			got := make([]byte, 5)
			for range 50 {
				l.in.Kick()
				client.Write([]byte("hello"))
				l.out.Kick()
				if _, err := io.ReadFull(server, got); err != nil || string(got) != "hello" {
					t.Fatal(string(got), err)
				}
			}
			client.(interface{ CloseWrite() error }).CloseWrite()
			server.(interface{ CloseWrite() error }).CloseWrite()
			if r := await(t, "Relay", done); r.err != nil || r.AToB != 250 {
				t.Errorf("Relay = %+v", r)
			}
		})
	}
}

// The whole of it in virtual time, over a connection that takes a second.
func TestRelayInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, in := pipe.New(pipe.Config{Delay: time.Second})
		out, server := pipe.New(pipe.Config{Delay: time.Second})
		l := &line{in: in, out: out}
		done := l.relay(t.Context())
		start := time.Now()
		o := client.Output()
		o.Lock()
		o.Out().AppendString("over")
		if !o.Unlock() || o.Flush() != nil {
			t.Error("not sent")
		}
		client.CloseWrite()
		var got bytes.Buffer
		why, _ := server.Receive(false, func(in *buf.In) (bool, error) {
			got.Write(in.Next(in.Len()))
			return got.Len() < 4, nil
		})
		if why != netio.Enough {
			t.Error(why)
		}
		if d := time.Since(start); d != 2*time.Second || got.String() != "over" {
			t.Errorf("got %q after %v", got.String(), d)
		}
		server.CloseWrite()
		if r := <-done; r.err != nil || r.AToB != 4 {
			t.Errorf("Relay = %+v", r)
		}
		for _, c := range []netio.Conn{client, in, out, server} {
			netio.CloseWithin(c, time.Second)
		}
		synctest.Wait()
	})
}

// Many relays at once, with random ends: each is right or fails, and nothing
// stays behind.
func TestRelayMany(t *testing.T) {
	kinds := pairings()
	names := []string{"tcp", "unix", "tls", "pipe"}
	leakless(t)
	n := 24
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = joined(t, kinds[names[i%len(names)]], kinds[names[i/2%len(names)]])
	}
	var wg sync.WaitGroup
	for i, l := range lines {
		ctx, cancel := context.WithCancel(t.Context())
		done := l.relay(ctx)
		up := noise(byte(i), 300_000)
		client, server := l.peers()
		wg.Go(func() { sendPieces(client, up, uint64(i)) })
		wg.Go(func() {
			defer cancel()
			k := len(up)
			if i%3 == 0 {
				k /= 2 // and cancel in the middle
			}
			got := make([]byte, k)
			if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, up[:k]) {
				t.Errorf("line %d: %v", i, err)
			}
			if i%3 == 0 {
				cancel()
				client.SetDeadline(time.Unix(1, 0))
			} else {
				server.(interface{ CloseWrite() error }).CloseWrite()
			}
			if err := (<-done).err; (err != nil) != (i%3 == 0) {
				t.Errorf("line %d: Relay: %v", i, err)
			}
		})
	}
	wg.Wait()
}
