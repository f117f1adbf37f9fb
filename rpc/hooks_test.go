package rpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A wire is a stream that records what gets through.
type wire struct {
	sent    []string
	arrives []string
}

func (w *wire) Send(msg any) error { w.sent = append(w.sent, *msg.(*string)); return nil }
func (w *wire) CloseSend() error   { return nil }
func (w *wire) Receive(msg any) error {
	if len(w.arrives) == 0 {
		return io.EOF
	}
	*msg.(*string), w.arrives = w.arrives[0], w.arrives[1:]
	return nil
}

// TestHooksOfAStream: around a message as interceptors are around a call. The outermost
// one sees what is sent last and what has arrived first; an error of one keeps the
// message from the others and from the wire.
func TestHooksOfAStream(t *testing.T) {
	errHook := errors.New("no more")
	for name, tt := range map[string]struct {
		fails string // the hook that fails
		seen  string
		sent  int
		err   error
	}{
		"none":          {"", "inner> outer> outer< inner< ", 1, nil},
		"outer send":    {"outer>", "inner> outer> ", 0, errHook},
		"inner send":    {"inner>", "inner> ", 0, errHook},
		"outer receive": {"outer<", "inner> outer> outer< ", 1, errHook},
	} {
		var seen string
		hook := func(name string) func(any) error {
			return func(msg any) error {
				seen += name + " "
				*msg.(*string) += "+"
				if name == tt.fails {
					return errHook
				}
				return nil
			}
		}
		c := stub.Make(&rpc.Method{Service: "S", Name: "m", Kind: rpc.Bidi}, "S", nil, nil)
		for _, who := range []string{"outer", "inner"} { // in the order in which interceptors run
			c.OnSend(hook(who + ">"))
			c.OnReceive(hook(who + "<"))
		}
		w := &wire{arrives: []string{"a"}}
		rpc.EngineOf(c).SetDrive(func(_ context.Context, s rpc.Stream) error {
			if err := s.Send(new("q")); err != nil {
				return err
			}
			var got string
			if err := s.Receive(&got); err != nil || got != "a++" {
				return errors.Join(err, fmt.Errorf("received %q", got))
			}
			if err := s.Receive(&got); err != io.EOF {
				return fmt.Errorf("hooks hide the end: %w", err)
			}
			return s.CloseSend()
		})
		err := rpc.EngineOf(c).Drive(t.Context(), w)
		if !errors.Is(err, tt.err) || (tt.err == nil) != (err == nil) || seen != tt.seen || len(w.sent) != tt.sent || tt.sent == 1 && w.sent[0] != "q++" {
			t.Errorf("%s: %v, seen %q, sent %q", name, err, seen, w.sent)
		}
	}
}

// TestDriveIsOnce: messages that were used up are not there for another attempt, and
// a call without any cannot be driven.
func TestDriveIsOnce(t *testing.T) {
	c := stub.Make(&rpc.Method{Service: "S", Name: "m", Kind: rpc.Bidi}, "S", nil, nil)
	if err := rpc.EngineOf(c).Drive(t.Context(), &wire{}); rpc.CodeOf(err) != rpc.Internal || rpc.EngineOf(c).Driven() {
		t.Errorf("without a drive: %v", err)
	}
	n := 0
	rpc.EngineOf(c).SetDrive(func(context.Context, rpc.Stream) error { n++; return rpc.Unavailable })
	for _, want := range []rpc.Code{rpc.Unavailable, rpc.FailedPrecondition} {
		if err := rpc.EngineOf(c).Drive(t.Context(), &wire{}); rpc.CodeOf(err) != want || !rpc.EngineOf(c).Driven() {
			t.Errorf("Drive = %v, want %v", err, want)
		}
	}
	if n != 1 {
		t.Errorf("driven %d times", n)
	}
}

type connection rpc.PeerInfo

func (c connection) PeerInfo() rpc.PeerInfo { return rpc.PeerInfo(c) }

// TestIdentity: only a certificate that was verified is one; a caller that has shown
// some, but of whom nobody was asked, is nobody.
func TestIdentity(t *testing.T) {
	cert := new(x509.Certificate)
	for name, tt := range map[string]struct {
		tls  *tls.ConnectionState
		want *x509.Certificate
	}{
		"no TLS":      {nil, nil},
		"server only": {&tls.ConnectionState{}, nil},
		"not checked": {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}, nil},
		"verified":    {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert, nil}}}, cert},
	} {
		c := echo.New()
		if c.PeerInfo() != (rpc.PeerInfo{}) {
			t.Error("a call that came from nowhere has a peer")
		}
		rpc.EngineOf(c).SetPeer(connection{Addr: &net.UnixAddr{Name: "s"}, TLS: tt.tls})
		if got := c.PeerInfo(); got.Addr.String() != "s" || got.Identity() != tt.want {
			t.Errorf("%s: %v, %v", name, got, got.Identity())
		}
	}
	if x := stub.NewCall[string, string](&echo, "S"); x.PeerInfo() != (rpc.PeerInfo{}) {
		t.Error("a client's call has a caller")
	}
}

// TestKeysAtTheirLimits: what each protocol can carry, to the byte.
func TestKeysAtTheirLimits(t *testing.T) {
	lim := rpc.Limits{HeaderEntries: 2, HeaderBytes: 600}.WithDefaults()
	pair := func(k, v string) rpc.Metadata { return rpc.Metadata{{Key: k, Value: v}} }
	for _, tt := range []struct {
		m    rpc.Metadata
		want rpc.Code
	}{
		{pair(strings.Repeat("k", rpc.MaxKeyBytes), ""), rpc.OK},
		{pair(strings.Repeat("k", rpc.MaxKeyBytes+1), ""), rpc.InvalidArgument},
		{pair("k", strings.Repeat("v", 599)), rpc.OK},
		{pair("k", strings.Repeat("v", 600)), rpc.ResourceExhausted},
		{append(pair("a", ""), pair("a", "")...), rpc.OK},
		{append(append(pair("a", ""), pair("b", "")...), pair("c", "")...), rpc.ResourceExhausted},
		{pair("!~", "any \x00 byte"), rpc.OK},
		{pair("a\x7f", ""), rpc.InvalidArgument},
		{pair("a\n", ""), rpc.InvalidArgument},
		{pair(":path", ""), rpc.InvalidArgument},
		{pair("limosa", ""), rpc.OK}, // not the prefix: that ends in a dash
		{pair("CONNECT-timeout", ""), rpc.InvalidArgument},
	} {
		if err := tt.m.Check(lim); rpc.CodeOf(err) != tt.want || err != nil && !rpc.SentOf(err).Retryable() {
			t.Errorf("%.40q: %v, want %v", tt.m, err, tt.want)
		}
	}
}
