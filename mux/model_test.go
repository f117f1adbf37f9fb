package mux_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// The model of a connection: what must have become of each call after every
// step, with the engine at rest. It knows no slots, roles or flushes.
type model struct {
	up, down bool // the client's, the server's socket is full
	calls    []*modelCall
}

type modelCall struct {
	large     bool
	sent      bool // all of the request has got through
	released  bool // the handler may return
	answered  bool // the answer has been queued
	cancelled bool
	ended     bool
	want      rpc.Code
}

// settle draws the conclusions of a step. A large message may need credit that
// comes the other way.
func (m *model) settle() {
	for _, c := range m.calls {
		up, down := m.up || c.large && m.down, m.down || c.large && m.up
		c.sent = c.sent || !up && !c.cancelled
		c.answered = c.answered || c.sent && c.released
		if !c.ended && c.answered && !down {
			c.ended, c.want = true, rpc.OK
		}
	}
}

// open reports whether c may have ended or not: one way is full, and it depends
// on what else was sent whether a large message needs credit from there.
func (m *model) open(c *modelCall) bool {
	return c.large && c.released && !c.cancelled && m.up != m.down
}

// TestModel makes random steps (calls small and large, cancels, handlers that
// return, sockets that fill and empty) and compares with the model after each.
func TestModel(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for seed := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) { runModel(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runModel(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	gates := map[string]chan struct{}{}
	r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
		"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
		"hold": func(_ context.Context, arg string) (string, error) {
			name, _, _ := strings.Cut(arg, " ")
			<-gates[name]
			return arg, nil
		},
	})
	if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
		t.Fatal(err)
	}
	type actual struct {
		cancel context.CancelFunc
		done   chan error
		over   bool
		err    error
	}
	var m model
	var acts []*actual
	var trace []string
	for i := range 64 {
		gates[fmt.Sprint(i)] = make(chan struct{})
	}
	pick := func() int { return rnd.IntN(max(1, len(acts))) }
	for step := 0; step < 60; step++ {
		k := pick()
		switch op := rnd.IntN(10); {
		case op < 4 && len(acts) < 64:
			c := &modelCall{large: rnd.IntN(4) == 0}
			arg := fmt.Sprint(len(acts), " ")
			if c.large {
				arg += strings.Repeat("x", 300<<10+rnd.IntN(1<<20))
			}
			ctx, cancel := context.WithCancel(t.Context())
			a := &actual{cancel: cancel, done: make(chan error, 1)}
			go func() {
				var got string
				var err error
				if c.large {
					got, err = r.large(ctx, "hold", arg)
				} else {
					got, _, err = r.call(ctx, "hold", arg)
				}
				if err == nil && got != arg {
					err = fmt.Errorf("%.10q for %.10q", got, arg)
				}
				a.done <- err
			}()
			trace = append(trace, fmt.Sprintf("start %d large=%v", len(acts), c.large))
			m.calls, acts = append(m.calls, c), append(acts, a)
		case len(acts) == 0:
			continue
		case op < 6:
			if c := m.calls[k]; !c.released {
				close(gates[fmt.Sprint(k)])
				c.released = true
				trace = append(trace, fmt.Sprint("release ", k))
			}
		case op < 8:
			acts[k].cancel()
			if c := m.calls[k]; !c.ended {
				c.ended, c.cancelled, c.want = true, true, rpc.Canceled
				trace = append(trace, fmt.Sprint("cancel ", k))
			}
		case op == 8:
			m.up = !m.up
			r.cend.Stall(m.up)
			trace = append(trace, fmt.Sprint("client full ", m.up))
		default:
			m.down = !m.down
			r.send.Stall(m.down)
			trace = append(trace, fmt.Sprint("server full ", m.down))
		}
		synctest.Wait()
		m.settle()
		if why := mux.Inconsistent(r.client); why != "" {
			t.Fatalf("%s, after\n%s", why, strings.Join(trace, "\n"))
		}
		for i, a := range acts {
			if !a.over {
				select {
				case a.err = <-a.done:
					a.over = true
				default:
				}
			}
			if c := m.calls[i]; a.over && !c.ended && m.open(c) {
				c.ended, c.want = true, rpc.OK
			}
			if c := m.calls[i]; a.over != c.ended || a.over && rpc.CodeOf(a.err) != c.want {
				t.Fatalf("call %d: over %v with %v, the model says %v with %v after\n%s", i, a.over, a.err, c.ended, c.want, strings.Join(trace, "\n"))
			}
		}
	}
	r.cend.Stall(false)
	r.send.Stall(false)
	for i, a := range acts {
		if !m.calls[i].released {
			close(gates[fmt.Sprint(i)])
		}
		a.cancel()
	}
	synctest.Wait()
	if caps, usable := r.client.Status(); !usable || !caps.Mux {
		t.Errorf("the connection did not survive: %+v, %v", caps, usable)
	}
}
