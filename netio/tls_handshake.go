package netio

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

const (
	// handshakeTime is how long a handshake may take if its context does not
	// say how long.
	handshakeTime = 5 * time.Second
	// clientsHello bounds what a client that is not asked for a certificate may say in
	// its handshake, bytes: crypto/tls keeps a hello until it is whole, and takes one
	// of 64 KB. Usual ones have 2 KB at the most.
	clientsHello = 16 << 10
)

// Client performs a client's handshake over c and returns the connection that
// stands on it. Nothing is queued on c and nobody is in Receive; bytes that were
// received and left, to look at the first of them, are the handshake's. From
// then on c belongs to the TLS, and it is closed if the handshake fails. The handshake
// runs in the caller's goroutine until ctx ends, at most 5 s if that has no deadline. config is that of
// tls.Client. The error is an *Error.
func Client(ctx context.Context, c Conn, config *tls.Config) (*TLS, error) {
	t, err := handshake(ctx, c, math.MaxInt, func(nc net.Conn) *tls.Conn { return tls.Client(nc, config) })
	if err != nil {
		CloseWithin(c, closeMoment) //nolint:errcheck // the handshake has failed
	}
	return t, err
}

// Server is Client for the other side; config is that of tls.Server. A peer that is
// not asked for a certificate may say 16 KB in its handshake.
func Server(ctx context.Context, c Conn, config *tls.Config) (*TLS, error) {
	return ServerAsking(ctx, c, config, config == nil || config.ClientAuth != tls.NoClientCert || config.GetConfigForClient != nil)
}

// ServerAsking is Server for a config that may choose another one for each client, by its
// GetConfigForClient: asks says whether any of them asks for a certificate, which cannot be
// seen in it.
func ServerAsking(ctx context.Context, c Conn, config *tls.Config, asks bool) (*TLS, error) {
	most := clientsHello
	if asks {
		most = math.MaxInt
	}
	t, err := handshake(ctx, c, most, func(nc net.Conn) *tls.Conn { return tls.Server(nc, config) })
	switch {
	case errors.Is(err, errLongHandshake):
		c.Abort()
		c.Receive(false, nil) //nolint:errcheck // gives its memory back
	case err != nil:
		linger(c)
	}
	return t, err
}

// linger closes c after an alert for its client, whose first requests may be there
// already: they are received, as much as a hello may be, and dropped. The kernel would
// answer them with a reset, which takes the alert away from who has not read it.
func linger(c Conn) {
	defer c.Receive(false, nil) //nolint:errcheck // gives its memory back
	moment := time.AfterFunc(closeMoment, c.Abort)
	defer moment.Stop()
	if c.Output().Err() != nil || c.CloseWrite() != nil {
		c.Abort()
		return
	}
	left := clientsHello
	for {
		why, _ := c.Receive(false, func(in *buf.In) (bool, error) {
			n := in.Len()
			in.Next(n)
			left -= n
			return left > 0, nil
		})
		if why == Lost || left <= 0 {
			c.Abort()
			return
		}
	}
}

// handshake takes at most so many bytes of the peer's. Its caller closes c if it fails.
func handshake(ctx context.Context, c Conn, most int, side func(net.Conn) *tls.Conn) (*TLS, error) {
	t := &TLS{lower: c, hsLeft: most}
	t.out, t.local, t.remote = c.Output(), c.Local(), c.Remote()
	t.tc = side((*tlsLower)(t))
	t.onIn, t.hsStep = t.decryptFrom, t.handshakeStep
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, handshakeTime)
		defer cancel()
	}
	err := t.tc.HandshakeContext(ctx)
	if err == nil {
		// What is left to send is the last flight: nobody looks at ctx any more.
		stop := context.AfterFunc(ctx, c.Abort)
		if err = t.handshakeFlush(); !stop() {
			err = cmp.Or(context.Cause(ctx), err)
		}
	} else if t.hsOwed { // an alert, for which nothing else bounds the time any more
		by := time.Now().Add(closeMoment)
		if owing, _ := t.out.FlushBy(func() time.Time { return by }); owing {
			t.out.forsake(net.ErrClosed)
		}
	}
	if err != nil {
		return nil, wrapError("handshake", t.remote, err)
	}
	t.running = true
	t.out.mu.Lock()
	t.out.plain = buf.NewOut(t.out.source)
	t.out.seal = &sealer{seal: t.seal, finish: t.finish, waits: func() bool { return t.waiting.Load() > 0 }}
	t.out.handed.Store(0) // the handshake was nobody's output
	t.out.mu.Unlock()
	return t, nil
}

// handshakeFlush pays what the handshake has written.
func (t *TLS) handshakeFlush() error {
	if !t.hsOwed {
		return nil
	}
	t.hsOwed = false
	return t.out.Flush()
}

// handshakeStep hands received bytes to tls.Conn while it shakes hands.
func (t *TLS) handshakeStep(in *buf.In) (more bool, err error) {
	t.hsN = copy(t.hsRead, in.Next(min(len(t.hsRead), in.Len(), t.hsLeft)))
	t.hsLeft -= t.hsN
	if t.hsN == 0 && in.Len() > 0 {
		return false, errLongHandshake
	}
	return t.hsN == 0, nil
}

var errLongHandshake = errors.New("the peer's handshake is longer than any")
