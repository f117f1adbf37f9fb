package netio_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// A keyed is a peer of a TLS that writes records of its own (RFC 8446, 5.2 and
// 7.3), for what crypto/tls never sends: requests for key updates.
type keyed struct {
	nc     net.Conn
	secret []byte
	seq    uint64
}

func (k *keyed) expand(label string, n int) []byte {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(append(append(info, byte(len(label))), label...), 0)
	out, err := hkdf.Expand(sha256.New, k.secret, string(info), n)
	if err != nil {
		panic(err)
	}
	return out
}

func (k *keyed) record(kind byte, p []byte) []byte {
	block, err := aes.NewCipher(k.expand("key", 16))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	nonce := k.expand("iv", 12)
	for i := range 8 {
		nonce[4+i] ^= byte(k.seq >> (56 - 8*i))
	}
	k.seq++
	p = append(bytes.Clone(p), kind)
	head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(p)+16))
	return aead.Seal(bytes.Clone(head), nonce, p, head)
}

// update is a KeyUpdate that asks for one, and a byte of data: without any in
// between crypto/tls loses its patience soon.
func (k *keyed) update() []byte {
	p := k.record(22, []byte{24, 0, 0, 1, 1})
	k.secret, k.seq = k.expand("traffic upd", 32), 0
	return append(p, k.record(23, []byte{'x'})...)
}

// keyedPeer stands a TLS server on b, whose client writes records of its own.
func keyedPeer(t *testing.T, a *pipe.Conn, b netio.Conn) (*keyed, *netio.TLS) {
	t.Helper()
	client, server := nettest.Certificates()
	client = client.Clone()
	var log bytes.Buffer
	client.KeyLogWriter, client.MinVersion = &log, tls.VersionTLS13
	k := &keyed{nc: a.NetConn()}
	shaken := make(chan error, 1)
	go func() { shaken <- tls.Client(k.nc, client).HandshakeContext(t.Context()) }()
	tb, err := netio.Server(t.Context(), b, server)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	if tb.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("the other cipher is preferred on this machine")
	}
	for line := range strings.Lines(log.String()) {
		if f := strings.Fields(line); f[0] == "CLIENT_TRAFFIC_SECRET_0" {
			if k.secret, err = hex.DecodeString(f[2]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return k, tb
}

// Answers to key updates leave by themselves, and count as queued until they do.
func TestTLSKeyUpdates(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	k, tb := keyedPeer(t, a, b)
	const updates = 200
	seen := 0
	received := make(chan struct{})
	go func() {
		defer close(received)
		why, err := tb.Receive(false, func(in *buf.In) (bool, error) {
			seen += in.Skip(in.Len())
			return seen < 2*updates, nil
		})
		if why != netio.Enough {
			t.Errorf("Receive: %v, %v", why, err)
		}
	}()
	send := func() {
		for range updates {
			if _, err := k.nc.Write(k.update()); err != nil {
				t.Fatal(err)
			}
		}
	}
	send()
	// 5 bytes of head, 5 of a message, a type and 16 of a tag each.
	answers := make([]byte, updates*27)
	k.nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	for n := 0; n < len(answers); {
		m, err := k.nc.Read(answers[n:])
		if err != nil {
			t.Fatalf("%d of %d bytes of answers: %v", n, len(answers), err)
		}
		n += m
	}
	b.Stall(true) // the peer takes no answer any more
	send()
	<-received
	if n := tb.Output().Queued(); n < updates*27 {
		t.Errorf("%d bytes are queued, of %d answers", n, updates)
	}
	tb.Abort()
	tb.Receive(false, nil)
	netio.CloseWithin(tb, time.Second) // joins who flushed
	if n := tb.Output().Queued(); n != 0 {
		t.Errorf("%d bytes are queued after Abort", n)
	}
	k.nc.Close()
}

// A peer that sends what is no record is told so by an alert.
func TestTLSAlert(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	k, tb := keyedPeer(t, a, b)
	if _, err := k.nc.Write([]byte("\x17\x03\x03\x00\x20 this is no ciphertext at all... ")); err != nil {
		t.Fatal(err)
	}
	if why, err := tb.Receive(false, func(*buf.In) (bool, error) { return true, nil }); why != netio.Lost {
		t.Errorf("Receive: %v, %v", why, err)
	}
	k.nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	p := make([]byte, 100)
	if n, err := k.nc.Read(p); n != 5+2+1+16 || p[0] != 23 {
		t.Errorf("the peer got %x, %v; want an alert", p[:n], err)
	}
	tb.Abort()
	k.nc.Close()
}
