package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"strings"
	"time"
)

// victimTLS has a certificate that nobody has signed but its own key.
func victimTLS() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // of the system's
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "victim"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// trustAll is a client's configuration that takes any certificate, such as the victim's.
func trustAll() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

const (
	tlsHandshake = 22 // the type of a record
	tlsData      = 23
	tlsMaxRecord = 16 << 10
)

// tlsRecords puts p into records.
func tlsRecords(typ byte, p []byte) (b []byte) {
	for len(p) > 0 {
		n := min(tlsMaxRecord, len(p))
		b = append(binary.BigEndian.AppendUint16(append(b, typ, 3, 1), uint16(n)), p[:n]...)
		p = p[n:]
	}
	return b
}

// clientHello is the message that a client begins a handshake with, said to have more bytes behind
// its own, which are there too.
func clientHello(more int) []byte {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go tls.Client(a, trustAll()).Handshake() //nolint:errcheck // it ends with the pipe
	head := make([]byte, 5)
	io.ReadFull(b, head) //nolint:errcheck // a pipe
	p := make([]byte, binary.BigEndian.Uint16(head[3:]))
	io.ReadFull(b, p) //nolint:errcheck
	n := len(p) - 4 + more
	p[1], p[2], p[3] = byte(n>>16), byte(n>>8), byte(n)
	return append(p, make([]byte, more)...)
}

// dialTLS connects and shakes hands; nil if it cannot.
func (x *attacker) dialTLS() *tls.Conn {
	c := x.dial()
	if c == nil {
		return nil
	}
	t := tls.Client(c, trustAll())
	if t.HandshakeContext(x.ctx) != nil {
		return nil
	}
	return t
}

// recordCost is about what a record takes beside its bytes.
const recordCost = 22

// sayTLS is say over TLS, for what makes one record.
func (x *attacker) sayTLS(t *tls.Conn, p []byte) bool {
	if t == nil || x.ctx.Err() != nil {
		return false
	}
	by, _ := x.ctx.Deadline()
	t.SetWriteDeadline(by) //nolint:errcheck // closed: Write says so
	n, err := t.Write(p)
	x.sent.Add(int64(n + recordCost))
	return err == nil
}

// tlsAttacks are on a server that asks for TLS.
//
// Its length is that of the table of cases, of which each stands for itself.
func tlsAttacks() []*attack {
	holds := func(b []byte) func(x *attacker) { return func(x *attacker) { x.hold(5000, b) } }
	long := tlsRecords(tlsHandshake, clientHello(60 << 10)[:60<<10])
	all := []*attack{
		{name: "tls-flood", why: "handshakes, as fast as possible, each connection gone behind it", bound: small, run: func(x *attacker) {
			x.many(16, func(int) {
				for x.ctx.Err() == nil {
					if t := x.dialTLS(); t != nil {
						x.sent.Add(400) // about what a client says
						t.NetConn().Close()
					}
				}
			})
		}},
		{name: "tls-cut", why: "hellos that end at each of their bytes, as fast as possible", bound: small, run: func(x *attacker) {
			hello := tlsRecords(tlsHandshake, clientHello(0))
			x.many(8, func(k int) {
				for i := k; x.ctx.Err() == nil; i += 8 {
					c := x.dial()
					if x.say(c, hello[:i%len(hello)]); c != nil {
						c.Close()
					}
				}
			})
		}},
		{name: "tls-half", why: "half a handshake on each of 5,000 connections", bound: oneAddress, run: holds(tlsRecords(tlsHandshake, clientHello(0)))},
		{name: "tls-long", why: "60 KB of a hello that does not end on each of 5,000 connections", bound: oneAddress, run: holds(long)},
		{name: "tls-long-h2", why: "the same to a server that offers protocols by name", bound: oneAddress, grpc: true, run: holds(long)},
		{name: "tls-torn", why: "a call, and 16 KB of a record that does not end, on each of 500 connections", bound: oneAddress, run: func(x *attacker) {
			torn := tlsRecords(tlsData, make([]byte, tlsMaxRecord))
			x.many(20, func(int) {
				for range 25 {
					if t := x.dialTLS(); x.sayTLS(t, framedRequest("echo", 1, 1, "torn")) {
						n, _ := t.NetConn().Write(torn[:len(torn)-1]) //nolint:errcheck // gone
						x.sent.Add(int64(n))
					}
				}
				x.wait()
			})
		}},
		{name: "tls-tiny", why: "a frame of 1 MB in records of a byte", bound: oneConn, run: func(x *attacker) {
			b := framedRequest("echo", 1, 1, strings.Repeat("x", 1<<20))
			x.many(2, func(int) {
				t := x.dialTLS()
				for i := 0; x.sayTLS(t, b[i%len(b):i%len(b)+1]); i++ {
				}
			})
		}},
		{name: "tls-unread", why: "answers of 1 MB on 100 connections that read nothing", bound: oneAddress, run: func(x *attacker) {
			x.many(100, func(int) {
				t := x.dialTLS()
				for i := uint32(1); x.sayTLS(t, request("answer", seqBase+i, 1<<20, "")); i++ {
				}
			})
		}},
	}
	for _, a := range all {
		a.tls = true
	}
	return all
}
