package trial

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// TestNewCallers: all callers are prepared before the load, with the same text; the one
// beside them has another, and whoever cannot be prepared is named.
func TestNewCallers(t *testing.T) {
	var texts []string
	target := &Target{Close: func() {}, Caller: func(_ context.Context, worker int, text string) (Call, error) {
		if worker == 3 {
			return nil, errors.New("full")
		}
		texts = append(texts, text)
		return func(ctx context.Context, id int64) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) < callTimeout/2 {
				return errors.New("no time")
			}
			if id != 5 {
				return errors.New("another id")
			}
			return nil
		}, nil
	}}
	c, err := newCallers(t.Context(), target, Setting{Callers: 3, Payload: 10, Seed: 1})
	if err != nil || len(c.calls) != 3 || texts[0] != RandomText(10, 1) || texts[1] != texts[0] || texts[2] != texts[0] {
		t.Fatalf("%v, %q", err, texts)
	}
	for worker := range 3 {
		if err := c.do(t.Context(), worker, 5); err != nil {
			t.Errorf("caller %d: %v", worker, err)
		}
	}
	texts = nil
	c, err = newCallers(t.Context(), target, Setting{Callers: 2, Payload: 10, Seed: 1, Beside: 100})
	if err != nil || len(c.calls) != 3 || len(texts[2]) != 100 || len(texts[1]) != 10 {
		t.Errorf("with one beside: %v, %q", err, texts)
	}
	for _, s := range []Setting{{Callers: 4, Payload: 1}, {Callers: 3, Payload: 1, Beside: 1}} {
		if _, err := newCallers(t.Context(), target, s); err == nil || err.Error() != "caller 3: full" {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestBesideCountsTheWindow: of large calls those count that end in the measured window,
// right ones and failed ones apart, and none that the end of the load has cut off.
func TestBesideCountsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := &callers{limits: make([]limit, 2), calls: []Call{nil, func(ctx context.Context, _ int64) error {
			n++
			select {
			case <-time.After(10 * time.Millisecond): // virtual
			case <-ctx.Done():
				return ctx.Err()
			}
			if n%4 == 0 {
				return errors.New("wrong answer")
			}
			return nil
		}}}
		b := startBeside(t.Context(), c, Setting{Callers: 1, Beside: 1})
		time.Sleep(95 * time.Millisecond)
		b.begin()
		time.Sleep(400 * time.Millisecond) // the calls 10 to 49 end in it
		b.end()
		time.Sleep(100 * time.Millisecond)
		if calls, failed := b.stop(); calls != 30 || failed != 10 {
			t.Errorf("%d calls and %d errors, want 30 and 10", calls, failed)
		}
		c.limits = make([]limit, 2) // those of before have ended with their load
		cut := startBeside(t.Context(), c, Setting{Callers: 1, Beside: 1})
		cut.begin()
		time.Sleep(5 * time.Millisecond)
		if calls, failed := cut.stop(); calls != 0 || failed != 0 {
			t.Errorf("a call that was cut off counts: %d, %d", calls, failed)
		}
		none := startBeside(t.Context(), c, Setting{Callers: 1})
		none.begin()
		time.Sleep(time.Second)
		if calls, failed := none.stop(); calls != 0 || failed != 0 {
			t.Errorf("nobody beside, and %d calls and %d errors", calls, failed)
		}
	})
}

// TestMarker: a window is what lies between two marks, and the first thing that went wrong
// is what is told.
func TestMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := new(Marker), Mark{}
		take := func() (Mark, error) {
			server.CPU, server.Mallocs = server.CPU+time.Second, server.Mallocs+7
			return server, nil
		}
		m.Take(take)
		time.Sleep(2 * time.Second) // virtual
		m.Take(take)
		time.Sleep(time.Second)
		m.Take(take)
		for i, length := range []time.Duration{2 * time.Second, time.Second} {
			if w := m.Window(i); w.Length != length || w.Server != (Mark{CPU: time.Second, Mallocs: 7}) || w.Client.CPU < 0 {
				t.Errorf("window %d: %+v", i, w)
			}
		}
		first := errors.New("first")
		m.Take(func() (Mark, error) { return Mark{}, first })
		m.Take(func() (Mark, error) { return Mark{}, errors.New("second") })
		if !errors.Is(m.Err, first) || !strings.Contains(m.Err.Error(), "the server process is gone") {
			t.Errorf("Err = %v", m.Err)
		}
	})
}

// TestHandlerWork: a handler sleeps, burns or does nothing, and what is not known is nothing.
func TestHandlerWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, want := range map[string]time.Duration{WorkSleep: time.Millisecond, WorkNone: 0, "": 0, "another": 0} {
			start := time.Now()
			if handlerWork(name)(); time.Since(start) != want {
				t.Errorf("%q takes %v, want %v", name, time.Since(start), want)
			}
		}
	})
	start := time.Now()
	if handlerWork(WorkBurn)(); time.Since(start) < 20*time.Microsecond {
		t.Errorf("it burns for %v", time.Since(start))
	}
}

// TestRowOfAClosedLoop: nothing of an open loop stands in it, and the first error does.
func TestRowOfAClosedLoop(t *testing.T) {
	res := &load.Result{Elapsed: 2 * time.Second, Calls: 4, Errors: 2, First: errors.New("first"), Unfinished: 3}
	for _, d := range []time.Duration{10, 20, 30, 40} {
		res.Latency.Record(d * time.Microsecond)
	}
	w := Window{Length: 2 * time.Second, Client: Mark{CPU: 8 * time.Microsecond}}
	r := newRow(Setting{Peer: "p", Callers: 7, Beside: 9, Arrivals: Poisson}, res, w, Window{Length: time.Second, Client: Mark{Mallocs: 100}})
	if r.Mode != "closed" || r.Arrivals != "" || r.LagP99 != 0 || r.Unfinished != 0 || r.Waits != 0 {
		t.Errorf("it has figures of an open loop: %+v", r.Figures)
	}
	if r.FirstError != "first" || r.CallsPerS != 2 || r.ClientCPU != 2 || r.ClientAllocs != 0 || r.P50 < 19 || r.P50 > 31 || r.P99 < 39 || r.Callers != 7 || r.Beside != 9 {
		t.Errorf("row %+v", r.Figures)
	}
}

// TestSettingIsHandedOn: a process gets the whole setting as its one argument.
func TestSettingIsHandedOn(t *testing.T) {
	want := Setting{Peer: "p", Round: 1, Callers: 2, Payload: 3, Rate: 4.5, Arrivals: Even, Conns: 5, Work: WorkBurn, Beside: 6, GOGC: 7, Duration: 8, Seed: -9}
	cmd := command(t.Context(), "a program", Client, want)
	var got Setting
	if len(cmd.Args) != 3 || cmd.Args[1] != Client || json.Unmarshal([]byte(cmd.Args[2]), &got) != nil || got != want {
		t.Errorf("args %q", cmd.Args)
	}
}

// TestProfile: a process writes its profile where it was asked to, and one that cannot
// goes on without.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(ProfileDir, dir)
	StartProfile()()
	files, err := filepath.Glob(filepath.Join(dir, "*.prof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
	t.Setenv(ProfileDir, filepath.Join(dir, "nowhere"))
	StartProfile()()
	t.Setenv(ProfileDir, "")
	StartProfile()()
}
