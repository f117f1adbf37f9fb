package web_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/route"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// A plainRig is a server of HTTP/1.1, whose peer is the test.
type plainRig struct {
	t      *testing.T
	peer   *pipe.Conn
	server *mux.ServerConn
	sess   wire.Session
	done   chan error
	free   chan struct{} // what the method Held waits for
	runs   atomic.Int32  // of Held
	most   atomic.Int32  // of them at once
}

func newPlainRig(t *testing.T, lim rpc.Limits) *plainRig {
	return newPlainRigOver(t, lim, mux.Spare)
}

func newPlainRigOver(t *testing.T, lim rpc.Limits, where mux.Handlers) *plainRig {
	r := &plainRig{t: t, done: make(chan error, 1), free: make(chan struct{})}
	svc := service()
	look := method("Look", rpc.Unary)
	look.ReadOnly = true
	held := method("Held", rpc.Unary)
	fire := method("Fire", rpc.Oneway)
	svc.Methods = append(svc.Methods, rpc.Handler{Method: look, Serve: serveSay}, rpc.Handler{Method: fire, Serve: serveSay},
		rpc.Handler{Method: held, Serve: func(ctx context.Context, c *rpc.Call) error {
			req, err := stub.Args[string](c)
			if err != nil {
				return err
			}
			n := r.runs.Add(1)
			defer r.runs.Add(-1)
			for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
			}
			select {
			case <-r.free:
			case <-ctx.Done():
			}
			return stub.Fill(c, req, nil)
		}})
	table, err := route.New([]rpc.Service{svc}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var send *pipe.Conn
	r.peer, send = pipe.New(pipe.Config{})
	limits := lim.WithDefaults()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	r.sess = web.HTTP1{}.Serving(table.Exact).Open(wire.Server, limits)
	r.server = mux.NewServerConn(send, r.sess, &mux.ServerConfig{Config: mux.Config{Limits: limits, Logger: log}, Route: table.Find, Base: t.Context(), Handlers: where})
	go r.server.Run(func(err error) { r.done <- err })
	t.Cleanup(func() { hangUp(r.peer); <-r.done })
	return r
}

// say sends text, whose lines end as in HTTP.
func (r *plainRig) say(text string) {
	o := r.peer.Output()
	o.Lock()
	o.Out().AppendString(strings.ReplaceAll(text, "\n", "\r\n"))
	if o.Unlock() {
		o.Flush() //nolint:errcheck // what does not come is missed
	}
}

// post is a request.
func post1(method, body string, lines ...string) string {
	head := "POST /test.Words/" + method + " HTTP/1.1\nhost: words\ncontent-type: application/proto\n"
	for _, l := range lines {
		head += l + "\n"
	}
	return head + fmt.Sprintf("content-length: %d\n\n%s", len(body), body)
}

// hears says what has come since the last call, once nothing more does. Lines that are the
// same in all answers are left out.
func (r *plainRig) hears() string {
	synctest.Wait()
	var all strings.Builder
	for {
		wake := time.AfterFunc(0, r.peer.Kick)
		why, _ := r.peer.Receive(false, func(in *buf.In) (bool, error) {
			all.Write(in.Peek(in.Len()))
			in.Skip(in.Len())
			return true, nil
		})
		wake.Stop()
		if why == netio.Lost {
			all.WriteString("|over")
		}
		if why != netio.Enough {
			text := strings.ReplaceAll(all.String(), "\r\n", "\n")
			text = usual.ReplaceAllString(text, "")
			return strings.ReplaceAll(text, "\n", ";")
		}
	}
}

var usual = regexp.MustCompile(`(?m)^(date: .*|accept-encoding: gzip|content-type: application/(json|proto))\n`)
