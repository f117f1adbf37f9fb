package secure_test

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/secure"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// What code of the user's does in a handshake is its outcome, and nothing worse.
func TestHandshake(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	defer secure.Discard(b)
	defer secure.Discard(a)
	mine := errors.New("mine")
	for name, tt := range map[string]struct {
		f      func() (netio.Conn, error)
		nc     netio.Conn
		err    string // "": none
		logged string
	}{
		"ends well":  {f: func() (netio.Conn, error) { return a, nil }, nc: a},
		"fails":      {f: func() (netio.Conn, error) { return nil, mine }, err: "mine"},
		"panics":     {f: func() (netio.Conn, error) { panic(mine) }, err: "panic in the TLS handshake: mine", logged: "peer=10.0.0.7:1 panic=mine stack="},
		"exits":      {f: func() (netio.Conn, error) { runtime.Goexit(); return nil, nil }, err: secure.ErrExit.Error()},
		"nil panics": {f: func() (netio.Conn, error) { panic(nil) }, err: "panic in the TLS handshake: ", logged: "stack="}, //nolint:govet // what it tests
	} {
		var log bytes.Buffer
		for _, to := range []func(string, ...any){slog.New(slog.NewTextHandler(&log, nil)).Error, nil} {
			nc, err := secure.Handshake("10.0.0.7:1", to, tt.f)
			if nc != tt.nc || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%s: %v, %v", name, nc, err)
			}
		}
		if got := log.String(); strings.Count(got, "msg=") > 1 || (got == "") != (tt.logged == "") || !strings.Contains(got, tt.logged) {
			t.Errorf("%s: logged %q", name, got)
		}
	}
}

// A connection that is discarded is over for its peer, and holds nothing.
func TestDiscard(t *testing.T) {
	a, b := pipe.New(pipe.Config{})
	secure.Discard(a)
	if why, err := b.Receive(false, nil); why != netio.Lost || err == nil {
		t.Errorf("the peer of a discarded connection: %v, %v", why, err)
	}
	secure.Discard(b)
}
