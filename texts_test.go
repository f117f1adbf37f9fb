package limosa_test

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

var updateTexts = flag.Bool("update", false, "write the error texts anew")

// TestErrorTexts compares what a user reads when something goes wrong, whole: what
// the caller is told, and what the server logs. testdata/errors has a file for each.
func TestErrorTexts(t *testing.T) {
	cert, pool := certificate(t)
	var log syncBuffer
	end := make(chan struct{})
	s := &limosa.Server{Services: []rpc.Service{bookUntil(end)}, Logger: lineLog(&log)}
	target, _ := start(t, s, "127.0.0.1:0")
	defer close(end)
	secured, _ := start(t, &limosa.Server{Services: []rpc.Service{book()}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, "127.0.0.1:0")
	mutual, _ := start(t, &limosa.Server{Services: []rpc.Service{book()}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}}, "127.0.0.1:0")
	client := func(c *limosa.Client) rpc.Caller {
		t.Cleanup(func() { c.Close() })
		return c
	}
	asked := func(c rpc.Caller, m *rpc.Method, arg string, d time.Duration) func() error {
		return func() error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			x := stub.NewCall[string, found](m, m.Service)
			x.Args = arg
			return c.Do(ctx, &x.Call)
		}
	}
	serve := func(s *limosa.Server) func() error {
		return func() error {
			l, err := limosa.Listen("127.0.0.1:0")
			if err != nil {
				return err
			}
			return s.Serve(t.Context(), l)
		}
	}
	overTCP, local := client(&limosa.Client{Target: target}), s.Caller()
	stranger := func() error {
		return asked(client(&limosa.Client{Target: mutual, TLS: &tls.Config{RootCAs: pool}}), lookup, "", time.Minute)()
	}
	unknown := &rpc.Method{Service: "Book", Name: "burn", Codec: foundCodec{}}
	for name, f := range map[string]func() error{
		"handler-fails":          asked(overTCP, lookup, "foreign", time.Minute),
		"handler-fails-local":    asked(local, lookup, "foreign", time.Minute),
		"handler-panics":         asked(overTCP, lookup, "panic", time.Minute),
		"handler-returns-nil":    asked(overTCP, lookup, "nothing", time.Minute),
		"handler-says":           asked(overTCP, lookup, "op", time.Minute),
		"another-hop-fails":      asked(overTCP, lookup, "hop", time.Minute),
		"deadline":               asked(overTCP, lookup, "late", 30*time.Millisecond),
		"deadline-local":         asked(local, lookup, "wait", 30*time.Millisecond),
		"unknown-method":         asked(overTCP, unknown, "", time.Minute),
		"unknown-method-local":   asked(local, unknown, "", time.Minute),
		"nobody-listens":         asked(client(&limosa.Client{Target: "unix:///nowhere/at/all"}), lookup, "", time.Minute),
		"plain-client-at-tls":    asked(client(&limosa.Client{Target: secured}), lookup, "", time.Minute),
		"stranger-to-tls":        asked(client(&limosa.Client{Target: secured, TLS: &tls.Config{}}), lookup, "", time.Minute),
		"mtls-no-certificate":    atFirst(stranger),
		"mtls-in-the-pause":      oftener(asked(client(&limosa.Client{Target: mutual, TLS: &tls.Config{RootCAs: pool}}), lookup, "", time.Minute)),
		"refused":                asked(client(&limosa.Client{Target: "127.0.0.1:1"}), lookup, "", time.Minute),
		"handler-exits":          asked(overTCP, lookup, "exit", time.Minute),
		"serve-no-listener":      func() error { return new(limosa.Server).Serve(t.Context()) },
		"serve-nil-listener":     func() error { return new(limosa.Server).Serve(t.Context(), (*netio.Listener)(nil)) },
		"serve-no-certificate":   serve(&limosa.Server{TLS: &tls.Config{ClientCAs: pool}}),
		"serve-nil-interceptor":  serve(&limosa.Server{Interceptors: []rpc.Interceptor{nil}}),
		"serve-no-service":       serve(&limosa.Server{}),
		"serve-nil-service":      serve(&limosa.Server{Services: []rpc.Service{{Name: "Book", Unbound: true}}}),
		"serve-unnamed-service":  serve(&limosa.Server{Services: []rpc.Service{{}}}),
		"serve-nil-protocol":     serve(&limosa.Server{Protocols: []wire.Protocol{ttheader.Protocol{}, nil}}),
		"serve-no-protocol":      serve(&limosa.Server{Protocols: []wire.Protocol{}}),
		"serve-unknown-handlers": serve(&limosa.Server{Handlers: 77}),
		"serve-negative-timeout": serve(&limosa.Server{Timeout: -1}),
		"dial-unknown-scheme":    func() error { _, err := limosa.Dial("etcd://a/b"); return err },
		"dial-nil-interceptor": func() error {
			_, err := limosa.Dial(target, func(c *limosa.Client) { c.Interceptors = []rpc.Interceptor{nil} })
			return err
		},
		"dial-nil-option":   func() error { _, err := limosa.Dial(target, nil); return err },
		"dial-no-port":      func() error { _, err := limosa.Dial("localhost:"); return err },
		"dial-windows-path": func() error { _, err := limosa.Dial(`C:\run\shop.sock`); return err },
		"listen-tls":        func() error { return limosa.Serve(t.Context(), "tls://127.0.0.1:0") },
		"nil-sequence": func() error {
			m := &rpc.Method{Service: "Book", Name: "write", Kind: rpc.Bidi, Codec: foundCodec{}}
			for _, err := range stub.Exchange[string, string](t.Context(), overTCP, stub.Make(m, "Book", nil, nil), nil) {
				return err
			}
			return nil
		},
	} {
		log.take()
		got := fmt.Sprintf("told: %v\n", f())
		if l := strings.TrimRight(log.take(), "\n"); l != "" {
			got += "log:  " + strings.ReplaceAll(l, "\n", "\n      ") + "\n"
		}
		for _, r := range []struct{ what, by string }{
			{`127\.0\.0\.1:\d+`, "ADDR"}, {`(internal error |id=)[A-Z2-7]{8}`, "${1}ID"}, {`the last \d+ conn`, "the last N conn"},
			{` \S+/([^/\s]+\.go):\d+`, " $1:LINE"}, {`limosa_test\.\S*\.func\S*`, "limosa_test.book.func"},
			{`github.com/limosa-rpc/limosa`, "limosa"},
		} {
			got = regexp.MustCompile(r.what).ReplaceAllString(got, r.by)
		}
		file := filepath.Join("testdata", "errors", name+".txt")
		if *updateTexts {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != got {
			t.Errorf("%s:\n%swant:\n%s%v", name, got, want, err)
		}
	}
}

// oftener makes a call until its peer is given a pause, and gives the error of the next.
func oftener(f func() error) func() error {
	return func() error {
		until(f, "the last", "")
		return f()
	}
}

// atFirst makes the first call of a new client, of which f is each time, until it is its
// own connection's end that it is told of. One may be lost before the request is sent, which
// is tried again, and before the alert is read, which leaves EOF.
func atFirst(f func() error) func() error {
	return func() error { return until(f, "certificate required", "the last") }
}

// until makes calls until one fails with one text and without the other, if that is not
// empty; not for ever.
func until(f func() error, with, without string) (err error) {
	for range 100 {
		err = f()
		if s := fmt.Sprint(err); strings.Contains(s, with) && (without == "" || !strings.Contains(s, without)) {
			break
		}
	}
	return err
}
