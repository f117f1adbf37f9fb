package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
)

// stuckTime is after which a client whose calls all have deadlines of a fifth of
// a second must have ended; one that has not says where its goroutines are.
const stuckTime = 10 * time.Second

// serveHostile lets the victim, a client, call a server that means it ill, and
// a good one beside; it gives the bytes that the hostile one sent.
func (a *attack) serveHostile(ctx context.Context, victim *trial.Process, d time.Duration) (int64, error) {
	good, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &limosa.Server{Services: []rpc.Service{victimService()}, Drain: time.Millisecond}
	var work sync.WaitGroup
	work.Go(func() { server.Serve(ctx, good) }) //nolint:errcheck // it ends with ctx
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return 0, err
	}
	var sent atomic.Int64
	work.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer nc.Close()
				nc.SetDeadline(time.Now().Add(d + time.Second)) //nolint:errcheck
				sent.Add(a.hostile(nc.(*net.TCPConn)))          //nolint:errcheck // "tcp"
			})
		}
	})
	var said victimState
	err = victim.Ask(fmt.Sprintf("call %s %s", l.Addr(), good.Addr()), &said)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	stacks := time.AfterFunc(stuckTime, func() { victim.Cmd.Process.Signal(syscall.SIGQUIT) }) //nolint:errcheck // it has gone
	ended := victim.Ask("end", &said)
	stacks.Stop()
	l.Close()
	stop()
	work.Wait()
	return sent.Load(), errors.Join(err, ended)
}

// A pourer sends to a client until that one goes.
type pourer struct {
	nc   *net.TCPConn
	n    int64
	gone chan struct{} // closed when the client says nothing more
}

// say sends b and reports whether the victim still takes it.
func (p *pourer) say(b []byte) bool {
	n, err := p.nc.Write(b)
	p.n += int64(n)
	return err == nil
}

// greet waits for the client's first frame and says hello, so that the client
// takes this for one of its kind.
func greet(nc *net.TCPConn) *pourer {
	p := &pourer{nc: nc, gone: make(chan struct{})}
	if _, err := nc.Read(make([]byte, 64<<10)); err != nil {
		close(p.gone)
		return p
	}
	p.say(head{strings: [][2]string{{"limosa-hello", theOffer}}}.frame(nil, 0))
	go func() {
		defer close(p.gone)
		io.Copy(io.Discard, nc) //nolint:errcheck
	}()
	return p
}

// slotsOf are ids as a client gives them out at first: slot | 1<<16.
const slotsOf = 8

// hostileAttacks are servers.
//
// Its length is that of the table of cases, of which each stands for itself.
func hostileAttacks() []*attack {
	pour := func(next func(i uint32) []byte) func(nc *net.TCPConn) int64 {
		return func(nc *net.TCPConn) int64 {
			p := greet(nc)
			for i := uint32(0); ; i++ {
				if !p.say(next(i)) {
					return p.n
				}
			}
		}
	}
	id := func(i uint32) uint32 { return seqBase | i%slotsOf }
	return []*attack{
		{name: "server-silent", why: "a server that says hello and nothing else", bound: small, hostile: func(nc *net.TCPConn) int64 {
			p := greet(nc)
			p.nc.SetDeadline(time.Now().Add(time.Second)) //nolint:errcheck
			<-p.gone
			return p.n
		}},
		{name: "server-strange-answers", why: "answers of 64 KB to calls that were never made", bound: small, hostile: pour(func(i uint32) []byte {
			return head{seq: 1<<20 + i}.frame(message("echo", 2, 1<<20+i, []byte(strings.Repeat("a", 64<<10))), 0)
		})},
		{name: "server-stream-headers", why: "HEADER frames with 8 KB of metadata for each stream, again and again", bound: oneConn, hostile: pour(func(i uint32) []byte {
			return streamFrame(streamHeader, "exchange", id(i), [][2]string{{"k" + strconv.Itoa(int(i)), strings.Repeat("h", 8<<10)}}, nil)
		})},
		{name: "server-stream-flood", why: "messages of 64 KB beyond all credit", bound: oneConn, hostile: pour(func(i uint32) []byte {
			return streamFrame(streamData, "exchange", id(i), nil, plainMessage(1, strings.Repeat("s", 64<<10)))
		})},
		{name: "server-pieces", why: "answers of 16 MB announced in pieces, one byte of each", bound: oneConn, hostile: pour(func(i uint32) []byte {
			return head{seq: id(i), strings: [][2]string{{"limosa-total", strconv.Itoa(15 << 20)}}}.frame(message("echo", 2, id(i), []byte{0}), 0)
		})},
		{name: "server-zlib-bomb", why: "compressed answers that inflate to 15 MB", bound: oneConn, hostile: pour(func() func(uint32) []byte {
			bomb := packed(message("echo", 2, seqBase, plainMessage(1, zeros(15<<20))), 1)
			return func(i uint32) []byte { return theader(id(i), 1, bomb) }
		}())},
		{name: "server-hellos", why: "hellos, goodbyes and grants, as fast as possible", bound: small, hostile: pour(func(i uint32) []byte {
			return append(head{strings: [][2]string{{"limosa-hello", theOffer}}}.frame(nil, 0),
				head{strings: [][2]string{{"limosa-credit", "1"}}}.frame(nil, 0)...)
		})},
		{name: "server-goes", why: "a server that says hello to the first call and goes", bound: small, hostile: func(nc *net.TCPConn) int64 { return greet(nc).n }},
		{name: "server-trickle", why: "an answer of 16 MB, a byte a millisecond", bound: small, hostile: func(nc *net.TCPConn) int64 {
			p := greet(nc)
			b := head{seq: seqBase}.frame(message("echo", 2, seqBase, make([]byte, 1<<10)), 16<<20)
			for _, c := range b {
				if !p.say([]byte{c}) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return p.n
		}},
		{name: "server-resets", why: "a server that resets each connection behind half an answer", bound: small, hostile: func(nc *net.TCPConn) int64 {
			p := greet(nc)
			p.say(head{seq: seqBase}.frame(message("echo", 2, seqBase, make([]byte, 1<<10)), 0)[:600])
			nc.SetLinger(0) //nolint:errcheck
			return p.n
		}},
		{name: "server-garbage", why: "random bytes behind the hello", bound: small, hostile: func(nc *net.TCPConn) int64 {
			p := greet(nc)
			p.say([]byte(strings.Repeat("\x00\x00\x04\x00\x10\x00\xde\xad", 512)))
			return p.n
		}},
	}
}
