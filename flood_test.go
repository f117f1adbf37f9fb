package limosa_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
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
