// Package secure is what the TLS handshakes of both sides share: they run code of the
// user's, such as tls.Config's callbacks, which must not cost more than a connection.
package secure

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/limosa-rpc/limosa/netio"
)

// ErrExit is the error of a handshake whose code has ended its goroutine.
var ErrExit = errors.New("the TLS handshake has ended its goroutine")

// Handshake runs f, a handshake with peer, and gives its outcome. f has a goroutine of
// its own: runtime.Goexit in a callback, as of t.Fatal, would else end the one that
// others wait for. A panic of f is an error, and logged with its stack by log, a
// slog.Logger's method; nil: it is not.
// The deep stack that crypto/tls takes goes with the goroutine, where a connection's
// would keep it.
func Handshake(peer string, log func(msg string, args ...any), f func() (netio.Conn, error)) (nc netio.Conn, err error) {
	err = ErrExit
	over := make(chan struct{})
	go func() { // joined below
		defer close(over)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic in the TLS handshake: %v", p)
				if log != nil {
					log("rpc: panic in a TLS handshake", "peer", peer, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				}
			}
		}()
		nc, err = f()
	}()
	<-over
	return nc, err
}

// Discard ends a connection that nobody uses.
func Discard(nc netio.Conn) {
	nc.Abort()
	nc.Receive(false, nil) // gives back the memory of what was lent
}
