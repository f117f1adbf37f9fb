package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

func TestBench(t *testing.T) {
	s := new(testServer)
	idl, addr := writeFile(t, "hello.thrift", testIDL), s.serve(t)
	for _, c := range []struct {
		args, mode string
	}{
		{"-c 8 -d 200ms", "closed"},
		{"-c 8 -d 200ms -rate 500", "open"},
		{"-c 2 -d 100ms -warmup 0s -transport framed", "closed"},
	} {
		args := append([]string{"bench", addr, "Hello/Echo", "-idl", idl, "-json", `{"message":"hi"}`, "-o", "json"}, strings.Fields(c.args)...)
		before := s.calls.Load()
		code, out, errs := runTool(t, "", args...)
		var r benchReport
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v: %s%s", c.args, code, err, out, errs)
		}
		if r.Mode != c.mode || r.Calls == 0 || r.Errors != 0 || r.P50 <= 0 || r.P50 > r.P99 || r.P99 > r.Max || r.CallsPerS <= 0 || r.ClientCPU <= 0 {
			t.Errorf("%s: %s", c.args, out)
		}
		// The window may be longer than asked for where there is little CPU.
		if due := r.Seconds * 500; c.mode == "open" && math.Abs(float64(r.Calls+r.Unfinished)-due) > 3 {
			t.Errorf("%s: %d calls and %d unfinished, %.0f were due", c.args, r.Calls, r.Unfinished, due)
		}
		if made := s.calls.Load() - before; made < int64(r.Calls) {
			t.Errorf("%s: %d calls told, the service has seen %d", c.args, r.Calls, made)
		}
		if strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: stderr is not one line:\n%s", c.args, errs)
		}
	}
}

func TestBenchTable(t *testing.T) {
	idl, addr := writeFile(t, "hello.thrift", testIDL), new(testServer).serve(t)
	code, out, errs := runTool(t, "", "bench", addr, "hello/add", `{"a":1,"b":2}`, "-idl", idl, "-c", "2", "-d", "50ms")
	for _, want := range []string{"Hello/add at " + addr, "closed loop, 2 callers", "p99.9", "CPU here"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q:\n%s%s", code, want, out, errs)
		}
	}
}

// Failures and declared exceptions end the run with exit code 1 before any load.
func TestBenchFails(t *testing.T) {
	s := new(testServer)
	idl, addr := writeFile(t, "hello.thrift", testIDL), s.serve(t)
	for message, want := range map[string]string{"denied": "PermissionDenied", "oops": "exception Oops", "slow": "DeadlineExceeded"} {
		timeout := "10s"
		if message == "slow" {
			timeout = "100ms"
		}
		code, out, errs := runTool(t, "", "bench", addr, "Hello/Echo", "-idl", idl, "-json", `{"message":"`+message+`"}`, "-timeout", timeout, "-d", "50ms")
		if code != 1 || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d\n%s%s", message, code, out, errs)
		}
	}
}

// A server that is gone while the load runs ends the run with the reason, and
// is not called without a pause.
func TestBenchDeadServer(t *testing.T) {
	var tries atomic.Int64
	refused := &rpc.Error{Code: rpc.Unavailable, Sent: rpc.NotSent, Msg: "connection refused"}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		begun := time.Now()
		call := patient(1, func(context.Context, int, uint64) error { tries.Add(1); return refused }, stop)
		for ctx.Err() == nil {
			_ = call(ctx, 0, 0)
		}
		if took := time.Since(begun); took < deadAfter || took > deadAfter+time.Second {
			t.Errorf("given up after %v", took)
		}
		if dead, ok := errors.AsType[*deadServer](context.Cause(ctx)); !ok || !strings.Contains(dead.Error(), "connection refused") {
			t.Errorf("ended by %v", context.Cause(ctx))
		}
	})
	if n := tries.Load(); n > 70 {
		t.Errorf("%d tries in five seconds", n)
	}
}

// Several requests are sent in turn.
func TestBenchVaries(t *testing.T) {
	idl := writeFile(t, "hello.thrift", testIDL)
	schema, err := loadIDL([]string{idl}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, m, err := findMethod(schema.Schema, "Hello/twice")
	if err != nil {
		t.Fatal(err)
	}
	var asked []byte
	x := &target{link: &link{}, service: s, method: m}
	if x.rpc, err = dynamic.Method(s, m); err != nil {
		t.Fatal(err)
	}
	a := &app{stdin: strings.NewReader(`{"n":1} {"n":2}` + "\n3")}
	calls, err := a.benchCalls(x, "-", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range calls.bodies {
		asked = append(asked, body[len(body)-2]) // the last byte of n
	}
	if string(asked) != "\x01\x02\x03" {
		t.Errorf("requests are %q", asked)
	}
}

func TestBenchStreams(t *testing.T) {
	f := new(flowServer)
	idl, addr := writeFile(t, "flow.thrift", flowIDL), f.serve(t)
	go func() {
		for range f.ends {
		}
	}()
	for _, c := range []struct {
		method, body string
		sent, got    int64 // messages of each call
	}{
		{"count", `{"n":3}`, 1, 3}, {"sum", `{"n":1}{"n":2}`, 2, 1}, {"chat", `{"n":1}{"n":2}{"n":3}`, 3, 3},
	} {
		code, out, errs := runTool(t, "", "bench", addr, "Flow/"+c.method, c.body, "-idl", idl, "-c", "2", "-d", "100ms", "-o", "json")
		var r benchReport
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Calls == 0 || r.Errors != 0 {
			t.Errorf("%s: exit code %d, %v\n%s%s", c.method, code, err, out, errs)
		} else if r.Sent*c.got != r.Received*c.sent {
			t.Errorf("%s: %d messages sent, %d received", c.method, r.Sent, r.Received)
		}
	}
}

func TestBars(t *testing.T) {
	var h load.Histogram
	for range 75 {
		h.Record(150 * time.Microsecond)
	}
	for range 25 {
		h.Record(400 * time.Microsecond)
	}
	want := "\n≤   200µs  75.00 % " + strings.Repeat("█", 40) + "\n≤   500µs  25.00 % " + strings.Repeat("█", 13) + "▋\n"
	got := bars(&h)
	if !strings.HasPrefix(got, want[:len(want)-4]) {
		t.Errorf("drawn are\n%s\nwant\n%s", got, want)
	}
	if got := bars(new(load.Histogram)); got != "" {
		t.Errorf("an empty histogram is drawn as %q", got)
	}
}

// Given twice, a request is refused: one of the two would be ignored.
func TestBenchAsksForOneRequest(t *testing.T) {
	idl := writeFile(t, "hello.thrift", testIDL)
	code, _, errs := runTool(t, "", "bench", "127.0.0.1:1", "Hello/Echo", "{}", "-idl", idl, "-json", "{}")
	if code != 2 || !strings.Contains(errs, "twice") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// Ctrl-C ends a run early; what it has measured is told, and no call failed of it.
func TestBenchInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	begun := time.Now()
	s := &testServer{seen: func(calls int64) {
		if calls >= 500 && time.Since(begun) > 200*time.Millisecond {
			interrupt()
		}
	}}
	idl, addr := writeFile(t, "hello.thrift", testIDL), s.serve(t)
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	code := a.run(ctx, []string{"limosa", "bench", addr, "Hello/Echo", "-idl", idl, "-warmup", "0s", "-d", "1h", "-o", "json"})
	var r benchReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != 0 || r.Calls == 0 || r.Errors != 0 {
		t.Errorf("exit code %d, %v\n%s%s", code, err, &out, &errs)
	}
}
