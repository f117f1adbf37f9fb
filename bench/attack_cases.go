package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An attack is something that a peer can do to a server, or a server to its
// clients. Exactly one of run and hostile is set.
type attack struct {
	name  string
	why   string
	bound float64 // MiB that the victim may grow by
	grpc  bool    // the victim speaks that, with Connect and HTTP/1.1, and so does the canary
	tls   bool    // the victim asks for TLS, and the canary speaks it

	run     func(x *attacker)           // attacks a server until x.ctx ends
	hostile func(nc *net.TCPConn) int64 // serves one connection of a client, and gives the bytes that it sent
}

const (
	// oneConn is what a victim may grow by for one connection: its account, and
	// what the collector lets become garbage before it runs.
	oneConn = 160
	// oneAddress is the same for an address with many connections: its share of
	// the server's account.
	oneAddress = 256
	// manyAddresses is the same for many addresses, which have all of the server's account, and
	// the 8 KB that ten thousand connections take besides.
	manyAddresses = 384
	// small is for what holds hardly anything.
	small = 64
)

// attackerAddress is not the canary's.
var attackerAddress = net.IPv4(127, 0, 0, 2)

// An attacker is one client with any number of connections.
type attacker struct {
	ctx  context.Context
	addr string
	sent atomic.Int64

	mu    sync.Mutex
	conns []*net.TCPConn
}

// dial connects; nil if the server takes no more connections in time.
func (x *attacker) dial() *net.TCPConn { return x.dialFrom(attackerAddress) }

// dialFrom is dial from an address of ours: of one a server takes a quarter of its connections.
func (x *attacker) dialFrom(from net.IP) *net.TCPConn {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: time.Second}
	nc, err := d.DialContext(x.ctx, "tcp", x.addr)
	if err != nil {
		return nil
	}
	c := nc.(*net.TCPConn) //nolint:errcheck // "tcp"
	x.mu.Lock()
	x.conns = append(x.conns, c)
	x.mu.Unlock()
	return c
}

// say sends until the attack is over or the peer does not take it. It reports
// whether everything was sent.
func (x *attacker) say(c *net.TCPConn, p []byte) bool {
	if c == nil || x.ctx.Err() != nil {
		return false
	}
	by, _ := x.ctx.Deadline()
	c.SetWriteDeadline(by) //nolint:errcheck // closed: Write says so
	n, err := c.Write(p)
	x.sent.Add(int64(n))
	return err == nil
}

// leave resets what is still connected.
func (x *attacker) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		c.SetLinger(0) //nolint:errcheck
		c.Close()
	}
}

// hear reads and drops whatever comes, on a goroutine, for as long as c lives.
func (x *attacker) hear(c *net.TCPConn) {
	if c != nil {
		go io.Copy(io.Discard, c) //nolint:errcheck
	}
}

// wait waits for the end of the attack.
func (x *attacker) wait() { <-x.ctx.Done() }

// many runs f on n goroutines and waits for them.
func (x *attacker) many(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// repeat sends what next makes, in writes of at least 32 KB, until the end.
func (x *attacker) repeat(c *net.TCPConn, next func(i uint32) []byte) {
	var b []byte
	for i := uint32(1); ; i++ {
		if b = append(b, next(i)...); len(b) < 32<<10 {
			continue
		}
		if !x.say(c, b) {
			return
		}
		b = b[:0]
	}
}

// times is repeat for n frames, and waits for the end.
func (x *attacker) times(c *net.TCPConn, n uint32, next func(i uint32) []byte) {
	var b []byte
	for i := uint32(1); i <= n; i++ {
		if b = append(b, next(i)...); len(b) > 32<<10 || i == n {
			if !x.say(c, b) {
				break
			}
			b = b[:0]
		}
	}
	x.wait()
}

// seqBase has ids as a Limosa client makes them: a slot and a generation.
const seqBase = 1 << 16

// attacks are all cases, in the order in which they run.
func attacks() []*attack {
	return slices.Concat(packedAttacks(), heldAttacks(), crowdAttacks(), slowAttacks(), pieceAttacks(), streamAttacks(), workAttacks(), connAttacks(), resetAttacks(), hostileAttacks(),
		http2Attacks(), serviceAttacks(), h2HostileAttacks(), http1Attacks(), tlsAttacks())
}

// pieceAttacks begin messages that do not end.
func pieceAttacks() []*attack {
	return []*attack{
		{name: "pieces-announced", why: "messages of 16 MB announced, of which 1 byte comes, on 64 connections", bound: oneAddress, run: func(x *attacker) {
			x.many(64, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				x.times(c, 64, func(i uint32) []byte { return firstPiece("echo", seqBase+i, 15<<20, []byte{0}) })
			})
		}},
		{name: "pieces-cancelled", why: "messages in pieces begun and given up, as fast as possible", bound: small, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte {
				id := seqBase + i%32768
				return append(firstPiece("echo", id, 15<<20, []byte{0}), cancelFrame(id)...)
			})
		}},
		{name: "pieces-unfinished", why: "messages of 16 MB without their last piece, on 32 connections", bound: oneAddress, run: func(x *attacker) {
			part := make([]byte, 128<<10)
			x.many(32, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				for m := range uint32(4) {
					x.say(c, firstPiece("echo", seqBase+1+m, 16<<20-1<<10, part))
					for range 16<<20/len(part) - 2 {
						if !x.say(c, laterPiece(seqBase+1+m, part)) {
							break
						}
					}
				}
				x.wait()
			})
		}},
		{name: "frames-declared", why: "frames of 16 MB declared, of which 1 KB comes, on 512 connections", bound: oneAddress, run: func(x *attacker) {
			b := framedRequest("echo", 1, 1, strings.Repeat("f", 1<<10))
			binary.BigEndian.PutUint32(b, 16<<20)
			x.many(512, func(int) { x.say(x.dial(), b); x.wait() })
		}},
		{name: "frames-halved", why: "frames of 16 MB of which half comes, on 32 connections", bound: oneAddress, run: func(x *attacker) {
			b := framedRequest("echo", 1, 1, strings.Repeat("f", 8<<20))
			binary.BigEndian.PutUint32(b, 16<<20)
			x.many(32, func(int) { x.say(x.dial(), b); x.wait() })
		}},
	}
}

// streamAttacks do it with streams.
//
// Its length is that of the table of cases, of which each stands for itself.
func streamAttacks() []*attack {
	data := func(id uint32, n int) []byte {
		return streamFrame(streamData, "hold", id, nil, plainMessage(1, strings.Repeat("s", n)))
	}
	return []*attack{
		{name: "stream-trailers", why: "TRAILER frames with metadata for a stream whose handler waits", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, openStream("hold", seqBase, true))
			value := strings.Repeat("t", 8<<10)
			x.repeat(c, func(uint32) []byte {
				return streamFrame(streamTrailer, "hold", seqBase, [][2]string{{"k", value}}, nil)
			})
		}},
		{name: "stream-headers", why: "HEADER frames again and again for one stream", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, openStream("hold", seqBase, true))
			value := strings.Repeat("h", 8<<10)
			x.repeat(c, func(uint32) []byte {
				return streamFrame(streamHeader, "hold", seqBase, [][2]string{{"isn", "Echo"}, {"RPC_TRANSIT_K", value}}, nil)
			})
		}},
		{name: "stream-empty", why: "empty messages of a peer without credit for a handler that receives nothing", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, openStream("hold", 1, false))
			empty := streamFrame(streamData, "hold", 1, nil, []byte{0})
			x.repeat(c, func(uint32) []byte { return empty })
		}},
		{name: "stream-flood", why: "messages of 64 KB beyond all credit for handlers that receive nothing", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, openStream("hold", seqBase, true))
			for i := range uint32(100) {
				x.say(c, openStream("hold", seqBase+1+i, false))
			}
			x.repeat(c, func(i uint32) []byte { return data(seqBase+i%100, 64<<10) })
		}},
		{name: "stream-pinned", why: "in each 64 KB one small message for a handler that receives nothing, and else what is refused at once", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, openStream("hold", seqBase, true))
			for i := range uint32(1000) {
				x.say(c, openStream("hold", seqBase+1+i, false))
			}
			x.repeat(c, func(i uint32) []byte { return beside(data(seqBase+i%1000, 1)) })
		}},
		{name: "stream-resets", why: "streams opened and reset, as fast as possible, on four connections", bound: oneAddress, run: func(x *attacker) {
			x.many(4, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, openStream("hold", seqBase, true))
				x.repeat(c, func(i uint32) []byte {
					id := seqBase + 1 + i
					return append(openStream("hold", id, false), streamFrame(streamReset, "hold", id, nil, nil)...)
				})
			})
		}},
		{name: "stream-unread", why: "64 streams that pour, of a peer that grants credit and reads nothing", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.say(c, openStream("pour", seqBase, true))
			for i := range uint32(64) {
				x.say(c, openStream("pour", seqBase+1+i, false))
				x.say(c, streamFrame(streamMeta, "pour", seqBase+1+i, [][2]string{{"limosa-credit", strconv.Itoa(1 << 30)}}, nil))
			}
			x.wait()
		}},
		{name: "credit-flood", why: "grants of credit, as fast as possible", bound: small, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, openStream("hold", seqBase, true))
			credit := streamFrame(streamMeta, "hold", seqBase, [][2]string{{"limosa-credit", "1"}}, nil)
			x.repeat(c, func(uint32) []byte { return credit })
		}},
	}
}

// workAttacks make a server work.
//
// Its length is that of the table of cases, of which each stands for itself.
func workAttacks() []*attack {
	return []*attack{
		{name: "names", why: "names of methods and services made up for each call", bound: small, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.repeat(c, func(i uint32) []byte {
				h := head{seq: i, strings: [][2]string{{"isn", fmt.Sprintf("%0200d", i)}}}
				return h.frame(message(fmt.Sprintf("%0200d", i), 1, i, []byte{0}), 0)
			})
		}},
		{name: "cancels", why: "8,000 calls that wait, and then cancels for calls that do not exist and for those", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			for i := range uint32(8000) {
				x.say(c, request("wait", seqBase+1+i, 1, ""))
			}
			x.repeat(c, func(i uint32) []byte { return cancelFrame(seqBase + 9000 + i) })
			for i := range uint32(8000) {
				x.say(c, cancelFrame(seqBase+1+i))
			}
		}},
		{name: "call-and-cancel", why: "calls given up in the same packet", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte { return append(request("wait", seqBase+i, 1, ""), cancelFrame(seqBase+i)...) })
		}},
		{name: "panics", why: "a method that panics", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.times(c, 2000, func(i uint32) []byte { return request("boom", seqBase+i, 1, "") })
		}},
		{name: "oneways", why: "oneway calls faster than their handlers", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			body := strings.Repeat("o", 16<<10)
			x.repeat(c, func(i uint32) []byte {
				return framed(message("note", 4, i, argument(1, body)))
			})
		}},
		{name: "pipeline", why: "small calls as fast as one connection takes them", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte { return request("echo", seqBase+i, 1, "pipeline") })
		}},
		{name: "decode-bomb", why: "lists that declare a million elements, and structs within structs", bound: oneConn, run: func(x *attacker) {
			list := append([]byte{12, 0, 1, 15, 0, 3, 10}, 0, 15, 0, 0)
			deep := append([]byte{12, 0, 1}, []byte(strings.Repeat("\x0c\x00\x09", 100_000))...)
			c := x.dial()
			x.hear(c)
			x.repeat(c, func(i uint32) []byte {
				return append(head{seq: i}.frame(message("echo", 1, i, list), 0), head{seq: i}.frame(message("echo", 1, i, deep), 0)...)
			})
		}},
		{name: "offers", why: "the offer with each frame, and hellos that nobody asked for", bound: small, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			hello := head{strings: [][2]string{{"limosa-hello", theOffer}, {"limosa-drain", "1"}}}.frame(nil, 0)
			x.repeat(c, func(i uint32) []byte { return append(firstRequest("echo", seqBase+i, 1, ""), hello...) })
		}},
	}
}

// connAttacks make a server hold connections, or make and end many.
//
// Its length is that of the table of cases, of which each stands for itself.
func connAttacks() []*attack {
	return []*attack{
		{name: "one-byte", why: "4,000 connections that send one byte", bound: oneAddress, run: func(x *attacker) {
			x.many(16, func(int) {
				for range 250 {
					x.say(x.dial(), []byte{0x80})
				}
			})
			x.wait()
		}},
		{name: "slow-frames", why: "1,000 connections that send a frame a byte at a time", bound: oneAddress, run: func(x *attacker) {
			b := framedRequest("echo", 1, 1, "slow")
			x.many(16, func(int) {
				var mine []*net.TCPConn
				for range 62 {
					mine = append(mine, x.dial())
				}
				for i := 0; i < len(b) && x.ctx.Err() == nil; i++ {
					for _, c := range mine {
						x.say(c, b[i:i+1])
					}
					time.Sleep(20 * time.Millisecond)
				}
				x.wait()
			})
		}},
		{name: "idle-hoard", why: "4,000 connections that made one call and stay", bound: oneAddress, run: func(x *attacker) {
			x.many(16, func(int) {
				for range 250 {
					x.say(x.dial(), framedRequest("echo", 1, 1, "hoard"))
				}
			})
			x.wait()
		}},
		{name: "reset-behind-data", why: "connections that send what means nothing and reset at once", bound: oneAddress, run: func(x *attacker) {
			nothing := head{seq: 7, strings: [][2]string{{"nothing", "1"}}}.frame(nil, 0)
			nothing = append(append(nothing, nothing...), nothing...)
			x.many(8, func(int) {
				for x.ctx.Err() == nil {
					c := x.dial()
					if c == nil {
						continue
					}
					x.say(c, framedRequest("echo", 1, 1, "then reset"))
					io.ReadFull(c, make([]byte, 16)) //nolint:errcheck
					x.say(c, nothing)
					c.SetLinger(0) //nolint:errcheck
					c.Close()
				}
			})
		}},
		{name: "churn", why: "connections opened and closed, as fast as possible", bound: oneAddress, run: func(x *attacker) {
			x.many(8, func(int) {
				for x.ctx.Err() == nil {
					if c := x.dial(); c != nil {
						x.say(c, []byte{0, 0, 0, 1})
						c.Close()
					}
				}
			})
		}},
		{name: "garbage", why: "random bytes on ever new connections", bound: oneAddress, run: func(x *attacker) {
			x.many(4, func(int) {
				b := make([]byte, 4<<10)
				for x.ctx.Err() == nil {
					rand.Read(b) //nolint:errcheck // never fails
					copy(b, []byte{0, 0, 4, 0, 0x10, 0, 0, 0})
					c := x.dial()
					x.hear(c)
					x.say(c, b)
					if c != nil {
						c.Close()
					}
				}
			})
		}},
		{name: "half-close", why: "calls whose sender ends its side at once", bound: oneAddress, run: func(x *attacker) {
			x.many(8, func(int) {
				for x.ctx.Err() == nil {
					c := x.dial()
					if c == nil {
						continue
					}
					x.say(c, framedRequest("echo", 1, 1, "half"))
					c.CloseWrite()                                 //nolint:errcheck
					c.SetReadDeadline(time.Now().Add(time.Second)) //nolint:errcheck
					io.Copy(io.Discard, c)                         //nolint:errcheck
					c.Close()
				}
			})
		}},
	}
}
