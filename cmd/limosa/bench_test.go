package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
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
	s := &testServer{seen: func(calls int64) {
		if calls == 500 {
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
