package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"github.com/cloudwego/netpoll"

	"github.com/limosa-rpc/limosa"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
)

const (
	// childEcho is the argument that makes this program an echo server.
	childEcho = "child-echo"
	// idleRPC is the peer of idle that is a whole RPC server.
	idleRPC = "limosa-rpc"
	// stepPeer is limosa with a step that sends the answers itself.
	stepPeer = "limosa-step"
	// frameHead is how long the length before each frame is.
	frameHead = 4
	// lentFrom is from how many bytes on received bytes are sent without being
	// copied first.
	lentFrom = 8 << 10
)

// An echoSetting is what an echo server's process is told.
type echoSetting struct{ Peer string }

// An echoPeer is a server that echoes frames: four bytes of length, big-endian,
// and so many bytes. A frame is answered once it is whole.
type echoPeer struct {
	name  string
	later string                                  // why it cannot be measured yet; empty if it can
	serve func(listening func(addr string)) error // until it fails
}

// echoPeers are those that are measured unless -peers says otherwise.
func echoPeers() []echoPeer {
	return []echoPeer{
		{name: "limosa", serve: serveParked},
		{name: "limosa-loop", serve: serveLooped},
		{name: "netpoll", serve: serveNetpoll},
		{name: "std", serve: serveStd},
	}
}

// echoNames are the echo servers there are, in order.
func echoNames() (names []string) {
	for _, p := range echoPeers() {
		names = append(names, p.name)
	}
	return names
}

// echoLater tells why a peer cannot be measured, "" if it can.
func echoLater(name string) string {
	for _, p := range echoPeers() {
		if p.name == name {
			return p.later
		}
	}
	return ""
}

// echoChildMain is the process of an echo server. It ends with its input.
func echoChildMain(args []string) error {
	var s echoSetting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return usageError{childEcho + " is for bench itself"}
	}
	peers := append(echoPeers(), echoPeer{name: stepPeer, serve: serveStep}, echoPeer{name: idleRPC, serve: serveIdleRPC})
	i := slices.IndexFunc(peers, func(p echoPeer) bool { return p.name == s.Peer })
	if i < 0 || peers[i].serve == nil {
		return usageError{"no such peer: " + s.Peer}
	}
	listening, failed := make(chan string, 1), make(chan error, 1)
	go func() { failed <- peers[i].serve(func(addr string) { listening <- addr }) }()
	select {
	case addr := <-listening:
		return answerMemory(addr, os.Stdin, os.Stdout)
	case err := <-failed:
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(trial.Hello{Error: fmt.Sprint(err)}))
	}
}

// wholeFrames is how many of the bytes p belong to whole frames, and how many
// more the frame that has begun needs, as far as that is known.
func wholeFrames(p []byte) (whole, need int) {
	for {
		rest := len(p) - whole
		if rest < frameHead {
			return whole, frameHead - rest
		}
		n := frameHead + int(binary.BigEndian.Uint32(p[whole:]))
		if rest < n {
			return whole, n - rest
		}
		whole += n
	}
}

// serveParked is netio's default: a goroutine for each connection, parked in
// Receive.
func serveParked(listening func(string)) error {
	return acceptAll(nil, listening, func(c netio.Conn) { go newAnswerer(c, false).run(c) })
}

// serveStep answers within the step, as only a handler may that never blocks.
func serveStep(listening func(string)) error {
	return acceptAll(nil, listening, func(c netio.Conn) { go newAnswerer(c, true).run(c) })
}

// acceptAll gives each connection to begin, which must not block.
func acceptAll(cfg *netio.Config, listening func(string), begin func(netio.Conn)) error {
	l, err := netio.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		return err
	}
	listening(l.Addr().String())
	for {
		c, err := l.Accept(context.Background())
		if err != nil {
			return err
		}
		begin(c)
	}
}

// An answerer is a connection's state. The read role owns it.
type answerer struct {
	out  *netio.Output
	owed bool // we are the flusher
	step netio.Step
}

// newAnswerer makes the answerer of c: at once says that its step flushes, so
// that Receive goes on; otherwise the next Receive does.
func newAnswerer(c netio.Conn, atOnce bool) *answerer {
	a := &answerer{out: c.Output()}
	if a.step = a.cut; atOnce {
		a.step = a.cutAndSend
	}
	return a
}

// run echoes on the calling goroutine until the end.
func (a *answerer) run(c netio.Conn) {
	defer c.Close(context.Background()) //nolint:errcheck // the peer has ended
	for {
		owed := a.owed
		a.owed = false
		switch why, _ := c.Receive(owed, a.step); why {
		case netio.Lost:
			return
		case netio.Full:
			a.out.Flush() // an error is Receive's to report
		}
	}
}

// cut answers the frames that are whole.
func (a *answerer) cut(in *buf.In) (more bool, err error) {
	whole, need := wholeFrames(in.Peek(in.Len()))
	in.Expect(need)
	if whole == 0 {
		return true, nil
	}
	a.out.Lock()
	if out := a.out.Out(); whole >= lentFrom {
		out.Move(in.View(whole))
	} else {
		out.Append(in.Next(whole))
	}
	a.owed = a.out.Unlock()
	return false, nil
}

// cutAndSend does the same, and sends unless the peer takes nothing.
func (a *answerer) cutAndSend(in *buf.In) (more bool, err error) {
	if more, err = a.cut(in); more {
		return more, err
	}
	if a.owed {
		a.owed, _ = a.out.TryFlush() // an error is Receive's to report
	}
	return !a.owed, nil
}

// serveNetpoll is CloudWeGo's netpoll with its defaults.
func serveNetpoll(listening func(string)) error {
	l, err := netpoll.CreateListener("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	loop, err := netpoll.NewEventLoop(netpollEcho)
	if err != nil {
		return err
	}
	listening(l.Addr().String())
	return loop.Serve(l)
}

// netpollEcho answers the frames that are there; the first may be waited for.
// Large ones are sent without being copied, by WriteBinary.
func netpollEcho(_ context.Context, c netpoll.Connection) error {
	r, w := c.Reader(), c.Writer()
	for first := true; first || r.Len() >= frameHead; first = false {
		head, err := r.Peek(frameHead)
		if err != nil {
			return err
		}
		n := frameHead + int(binary.BigEndian.Uint32(head))
		if !first && r.Len() < n {
			break
		}
		frame, err := r.Next(n)
		if err != nil {
			return err
		}
		if _, err := w.WriteBinary(frame); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.Release()
}

// serveStd is package net with a goroutine for each connection.
func serveStd(listening func(string)) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	listening(l.Addr().String())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go stdEcho(c)
	}
}

// stdEcho answers with one Write what one Read has made whole.
func stdEcho(c io.ReadWriteCloser) {
	defer c.Close()
	p, held := make([]byte, 4<<10), 0
	for {
		n, err := c.Read(p[held:])
		if err != nil {
			return
		}
		held += n
		whole, need := wholeFrames(p[:held])
		if whole > 0 {
			if _, err := c.Write(p[:whole]); err != nil {
				return
			}
			held = copy(p, p[whole:held])
		}
		if held+need > len(p) {
			p = append(p[:held], make([]byte, need)...)
		}
	}
}

// serveIdleRPC is a Limosa server with its defaults.
func serveIdleRPC(listening func(string)) error {
	s := &limosa.Server{Services: []rpc.Service{limosaecho.Service(limosaEcho{func() {}})}}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	listening(l.Addr().String())
	return s.Serve(context.Background(), l)
}
