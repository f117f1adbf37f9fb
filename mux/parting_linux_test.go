package mux_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A resetPeer serves one connection by hand: it answers one call, reads no more,
// says its last word and resets the connection.
type resetPeer struct {
	t  *testing.T
	nc netio.Conn
	s  wire.Session
}

// answer answers the first call.
func (p *resetPeer) answer() {
	var ev wire.Event
	_, err := p.nc.Receive(false, func(in *buf.In) (more bool, err error) {
		ev, _, err = p.s.Cut(in)
		return ev.Flags == 0, err
	})
	if err != nil {
		p.t.Errorf("receive: %v", err)
		return
	}
	ev.Body.Release()
	p.say(&ev, true)
	p.say(&wire.Event{Flags: wire.Message | wire.End, ID: ev.ID, Method: ev.Method, Tag: ev.Tag, Encoding: ev.Encoding}, false)
}

// say sends an event, or what comes of taking one into effect.
func (p *resetPeer) say(ev *wire.Event, apply bool) {
	o := p.nc.Output()
	o.Lock()
	if apply {
		p.s.Apply(o.Out(), ev)
	} else {
		m := p.s.Begin(o.Out(), ev)
		if err := p.s.End(o.Out(), m, ev); err != nil {
			p.t.Errorf("say: %v", err)
		}
	}
	if o.Unlock() {
		o.Flush() //nolint:errcheck // the client shows
	}
}

// sockets makes connected pairs of each transport. Both ends are of its kind.
func sockets(t *testing.T, cfg *netio.Config) map[string]func(t *testing.T) (client, server netio.Conn) {
	pair := func(network, addr string, wrap func(net.Conn) netio.Conn) func(t *testing.T) (netio.Conn, netio.Conn) {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		var one sync.Mutex // who dials beside another may be accepted by it
		return func(t *testing.T) (netio.Conn, netio.Conn) {
			one.Lock()
			defer one.Unlock()
			a, err := net.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return wrap(a), wrap(b)
		}
	}
	sock := func(nc net.Conn) netio.Conn { return netio.Wrap(nc, cfg) }
	foreign := func(nc net.Conn) netio.Conn { return netio.Wrap(struct{ *net.TCPConn }{nc.(*net.TCPConn)}, cfg) }
	loops := *cfg
	loops.Loops = 1
	looped := func(nc net.Conn) netio.Conn { return netio.Wrap(nc, &loops) }
	tcp := pair("tcp", "127.0.0.1:0", sock)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(t *testing.T) (client, server netio.Conn){
		"tcp":   tcp,
		"unix":  pair("unix", filepath.Join(t.TempDir(), "s"), sock),
		"plain": pair("tcp", "127.0.0.1:0", foreign),
		"loops": pair("tcp", "127.0.0.1:0", looped),
		"tls": func(t *testing.T) (netio.Conn, netio.Conn) {
			a, b := tcp(t)
			done := make(chan netio.Conn, 1)
			go func() {
				s, err := netio.Server(t.Context(), b, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
				if err != nil {
					t.Error(err)
				}
				done <- s
			}()
			c, err := netio.Client(t.Context(), a, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			return c, <-done
		},
	}
}

// A reset behind the last word takes nothing away from it, also while the client
// sends: what has been received is read before the reset is believed in.
//
// The large call has sent what its credit allows then, and waits for more: what it has
// beyond that is not sent, and a larger one would show the same.
func TestAResetBehindTheLastWord(t *testing.T) {
	cfg := &netio.Config{Net: new(netio.Net)}
	t.Cleanup(func() { cfg.Net.Close() }) //nolint:errcheck // tests of netio look at that
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	for name, dial := range sockets(t, cfg) {
		t.Run(name, func(t *testing.T) {
			for i := range rounds {
				a, b := dial(t)
				resetOnce(t, a, b, time.Duration(i%4)*time.Millisecond)
			}
		})
	}
}

func resetOnce(t *testing.T, a, b netio.Conn, after time.Duration) {
	lim := rpc.Limits{}.WithDefaults()
	p := ttheader.Protocol{}
	peer := &resetPeer{t: t, nc: b, s: p.Open(wire.Server, lim)}
	r := &rig{client: mux.NewConn(a, p.Open(wire.Client, lim), mux.Config{Limits: lim})}
	defer r.client.Close()
	answered := make(chan struct{})
	go func() { defer close(answered); peer.answer() }()
	if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
		t.Fatal(err)
	}
	<-answered
	ends := make(chan error)
	begin := func(call func() error) { go func() { ends <- call() }() }
	begin(func() error { _, _, err := r.call(t.Context(), "echo", ""); return err })
	begin(func() error {
		_, err := r.large(t.Context(), "echo", strings.Repeat("x", 2*ttheader.PieceWindow))
		return err
	})
	begin(func() error { _, _, err := r.call(t.Context(), "echo", ""); return err })
	begin(func() error { return last(r.chat(t.Context(), strs(2, strings.Repeat("x", 60<<10)))) })
	// Real time: sockets of the kernel.
	time.Sleep(after) // it sends, or waits for room, or has not begun
	peer.say(&wire.Event{Flags: wire.GoAway | wire.HasLast}, false)
	peer.nc.Abort()
	peer.nc.Receive(false, nil) // gives back what was lent
	for range 4 {
		if err := <-ends; rpc.CodeOf(err) != rpc.Unavailable || !rpc.SentOf(err).Retryable() {
			t.Errorf("after %v: %v, %v", after, err, rpc.SentOf(err))
		}
	}
}

// A server that has said its last word reads on until its client has gone: what
// crosses the word is dropped, and resets nothing.
func TestWhatCrossesTheLastWordResetsNothing(t *testing.T) {
	cfg := &netio.Config{Net: new(netio.Net)}
	t.Cleanup(func() { cfg.Net.Close() }) //nolint:errcheck // tests of netio look at that
	for name, dial := range sockets(t, cfg) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Real time: sockets of the kernel. Where the client is kept from running while the
			// server waits for it, a second twice, nothing is shown.
			var took time.Duration
			for range 5 {
				a, b := dial(t)
				var wrong []string
				if took, wrong = crossByHand(t, a, b); took < 2*time.Second-cancelGraceLeft {
					for _, w := range wrong {
						t.Error(w)
					}
					return
				}
			}
			t.Errorf("the drain took %v, five times over", took)
		})
	}
}

// Nor does that server wait for the end of its grace, once its client has gone.
func TestWhatCrossesTheLastWordIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe.New(pipe.Config{})
		took, wrong := crossByHand(t, a, b)
		if len(wrong) > 0 || took > 2*time.Second-cancelGraceLeft {
			t.Errorf("the drain took %v; %v", took, wrong)
		}
	})
}

// crossByHand has requests of the client a cross the last word of the server b. It gives
// what the server's drain took, and what was wrong.
func crossByHand(t *testing.T, a, b netio.Conn) (took time.Duration, wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	lim := rpc.Limits{}.WithDefaults()
	p := ttheader.Protocol{}
	var begun atomic.Int32
	server := mux.NewServerConn(b, p.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: began(&begun, handlers(echo).route), Base: t.Context()})
	ended := make(chan error, 1)
	go server.Run(func(err error) { ended <- err })
	s := p.Open(wire.Client, lim)
	id := uint64(0)
	call := func(n, bytes int) {
		o := a.Output()
		o.Lock()
		for range n {
			id++
			ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: id, Method: "echo"}
			m := s.Begin(o.Out(), &ev)
			o.Out().AppendString(strings.Repeat("x", bytes))
			s.End(o.Out(), m, &ev) //nolint:errcheck // small
		}
		if o.Unlock() {
			o.Flush() //nolint:errcheck // seen below
		}
	}
	var got wire.Flags
	until := func(f wire.Flags) {
		t.Helper()
		why, err := a.Receive(false, func(in *buf.In) (bool, error) {
			for {
				ev, _, err := s.Cut(in)
				if ev.Flags&(wire.Settings) != 0 {
					s.Apply(a.Output().Out(), &ev) // nobody else appends
				}
				ev.Body.Release()
				if got |= ev.Flags; ev.Flags == 0 || err != nil {
					return got&f == 0, err
				}
			}
		})
		if got&f == 0 || why != netio.Enough {
			t.Fatalf("%v, %v, %v", got, why, err)
		}
	}
	call(1, 10)
	until(wire.End)
	drained := make(chan time.Duration, 1)
	start := time.Now()
	go func() { server.Drain(t.Context()); drained <- time.Since(start) }()
	until(wire.HasLast)
	for range 20 {
		call(3, 5_000)
		// Real time: sockets of the kernel.
		time.Sleep(5 * time.Millisecond)
	}
	if why, err := a.Receive(false, func(in *buf.In) (bool, error) { return in.Len() == 0, nil }); why != netio.Lost || err != io.EOF {
		bad("behind the last word: %v, %v", why, err)
	}
	if err := a.Output().Err(); err != nil {
		bad("what crosses the last word: %v", err)
	}
	netio.CloseWithin(a, time.Second) //nolint:errcheck // it is over
	took = <-drained
	if err := <-ended; err != io.EOF || begun.Load() != 1 {
		bad("ended with %v; %d calls were begun", err, begun.Load())
	}
	return took, wrong
}

// cancelGraceLeft is what a drain may not take of the second that it gives its
// client behind the last word, if that closes the connection.
const cancelGraceLeft = 300 * time.Millisecond
