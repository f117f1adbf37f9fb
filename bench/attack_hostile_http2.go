package main

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"time"
)

// h2Greet says hello to a client of HTTP/2, waits for its first call and gives its stream; 0: the
// client has gone.
func h2Greet(nc *net.TCPConn) (p *pourer, first uint32) {
	p = &pourer{nc: nc, gone: make(chan struct{})}
	p.say(h2Frame(h2Settings, 0, 0))
	p.say(h2Frame(h2Settings, 1, 0))
	head := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	io.ReadFull(nc, head) //nolint:errcheck // the next read says so
	for head = head[:9]; ; {
		if _, err := io.ReadFull(nc, head); err != nil {
			close(p.gone)
			return p, 0
		}
		io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(head)>>8)) //nolint:errcheck
		if head[3] == h2Headers {
			break
		}
	}
	go func() {
		defer close(p.gone)
		io.Copy(io.Discard, nc) //nolint:errcheck
	}()
	return p, binary.BigEndian.Uint32(head[5:])
}

// h2HostileAttacks are servers of HTTP/2.
//
// Its length is that of the table of cases, of which each stands for itself.
func h2HostileAttacks() []*attack {
	head := func(more ...byte) []byte {
		return append(h2Text([]byte{0x88, 0x0f, 0x10}, "application/grpc"), more...)
	}
	begin := func(id uint32) []byte { return h2Frame(h2Headers, h2EndHeaders, id, head()...) }
	// pour says first to the first call, and then next for ever; without next it goes.
	pour := func(name, why string, bound float64, first func(id uint32) []byte, next func(id, i uint32) []byte) *attack {
		return &attack{name: "h2-server-" + name, why: why, bound: bound, grpc: true, hostile: func(nc *net.TCPConn) int64 {
			p, id := h2Greet(nc)
			if id == 0 || first != nil && !p.say(first(id)) || next == nil {
				return p.n
			}
			for i := uint32(0); p.say(next(id, i)); i++ {
				continue
			}
			return p.n
		}}
	}
	whole := make([]byte, h2MaxFrame)
	bomb := gzipped(strings.Repeat("\x00", 15<<20))
	return []*attack{
		pour("goes", "a server that says hello and goes with the first call", small, nil, nil),
		pour("goaway", "a server that answers the first call with GOAWAY, and goes", small, func(uint32) []byte { return h2Frame(h2GoAway, 0, 0, make([]byte, 8)...) }, nil),
		pour("refuses", "a server that refuses all calls", small, nil, func(id, i uint32) []byte {
			time.Sleep(100 * time.Microsecond)
			return h2Word(h2Reset, id+2*i, 7)
		}),
		pour("data", "an answer without an end", oneConn, begin, func(id, _ uint32) []byte { return h2Frame(h2Data, 0, id, whole...) }),
		pour("messages", "empty messages without an end", oneConn, begin, func(id, _ uint32) []byte { return h2Frame(h2Data, 0, id, make([]byte, 5000)...) }),
		pour("bomb", "15 KB that inflate to 15 MB for each call", oneConn, nil, func(id, i uint32) []byte {
			id += 2 * i
			m := append([]byte{1}, grpcMessage(len(bomb), []byte(bomb))[1:]...)
			b := append(h2Frame(h2Headers, h2EndHeaders, id, head(h2Field(h2Plain, "grpc-encoding", "gzip")...)...), h2Frame(h2Data, 0, id, m...)...)
			time.Sleep(time.Millisecond) // so that there is a call for it
			return append(b, h2Frame(h2Headers, h2End|h2EndHeaders, id, h2Field(h2Plain, "grpc-status", "0")...)...)
		}),
		pour("continuation", "a head without an end", small, func(id uint32) []byte { return h2Frame(h2Headers, 0, id, head()...) }, func(id, _ uint32) []byte {
			return h2Frame(h2Continuation, 0, id, h2Field(h2Insert, "x-a", strings.Repeat("v", 1000))...)
		}),
		pour("interim", "heads with status 103 without an end", small, nil, func(id, _ uint32) []byte {
			return h2Frame(h2Headers, h2EndHeaders, id, h2Field(h2Plain, ":status", "103")...)
		}),
		pour("values", "15,000 values in one for each call", oneConn, nil, func(id, i uint32) []byte {
			return h2Frame(h2Headers, h2EndHeaders|h2End, id+2*i, head(h2Field(h2Plain, "x-bin", strings.Repeat(",", 15000))...)...)
		}),
	}
}
