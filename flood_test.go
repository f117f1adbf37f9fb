package limosa_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// Who asks again and again for a name at which the user's TLS code panics does not fill
// the log: a ClientHello of 200 bytes would be some KB of stack there.
func TestPanicsOfHandshakesAreLoggedSparsely(t *testing.T) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	stop := serveOn(t, &limosa.Server{
		Services: []rpc.Service{service(nil)}, Logger: textLog(&log),
		TLS: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { panic("no such name") }},
	}, l)
	start := time.Now()
	for range 200 {
		if c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true}); err == nil {
			c.Close()
			t.Fatal("a handshake whose code panics has succeeded")
		}
	}
	stop()
	most := 10 * (2 + int(time.Since(start)/time.Second))
	if n := strings.Count(log.take(), "panic in a TLS handshake"); n == 0 || n > most {
		t.Errorf("%d lines for 200 panics, at most %d are wanted", n, most)
	}
}

// Interceptors see calls of methods that are not here, whose names are the caller's choice:
// what they fail with fills the log no more than the failures of one method do.
func TestFailuresOfUnknownMethodsAreLoggedSparsely(t *testing.T) {
	for what, icept := range map[string]rpc.Interceptor{
		"error": func(context.Context, *rpc.Call, rpc.Next) error { return errors.New("no token") },
		"panic": func(context.Context, *rpc.Call, rpc.Next) error { panic("no token") },
	} {
		l, err := limosa.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var log syncBuffer
		stop := serveOn(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Logger: textLog(&log), Interceptors: []rpc.Interceptor{icept}}, l)
		c := &limosa.Client{Target: l.Addr().String()}
		start := time.Now()
		for i := range 200 {
			m := &rpc.Method{Service: "Test", Name: fmt.Sprintf("none%d", i), Codec: text{}, New: stub.New[string, string]}
			if _, err := call(t.Context(), c, m, ""); rpc.CodeOf(err) != rpc.Internal {
				t.Fatalf("%s: %v", what, err)
			}
		}
		c.Close()
		stop()
		most := 10 * (2 + int(time.Since(start)/time.Second))
		if n := strings.Count(log.take(), "no token"); n == 0 || n > most {
			t.Errorf("%s: %d lines for 200 calls, at most %d are wanted", what, n, most)
		}
	}
}
