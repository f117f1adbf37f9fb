package trial

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

func TestVerify(t *testing.T) {
	good := make([]int64, ListLen)
	Fill(good, 7)
	bad := make([]int64, ListLen)
	Fill(bad, 7)
	bad[3]++
	for name, c := range map[string]struct {
		id   int64
		text string
		list []int64
		ok   bool
	}{
		"right":         {7, "text", good, true},
		"wrong id":      {8, "text", good, false},
		"wrong text":    {7, "texT", good, false},
		"wrong number":  {7, "text", bad, false},
		"short of list": {7, "text", good[:4], false},
	} {
		if err := Verify(7, "text", c.id, c.text, c.list); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLimitRenews holds that a call never starts with less than its time.
func TestLimitRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limit
		made := 0
		for range 100 {
			before := l.ctx
			ctx := l.context(t.Context())
			if ctx != before {
				made++
			}
			if at, ok := ctx.Deadline(); !ok || time.Until(at) < callTimeout || time.Until(at) > callTimeout*3/2 {
				t.Fatalf("deadline in %v", time.Until(at))
			}
			time.Sleep(100 * time.Millisecond) // virtual
		}
		if made < 15 || made > 20 {
			t.Errorf("%d contexts for 100 calls in 10 s, want one each 0.5 s or a little more", made)
		}
		l.cancel()
	})
}

func TestNewRow(t *testing.T) {
	res := &load.Result{Elapsed: time.Second, Calls: 1000}
	busy := Window{Length: time.Second, Client: Mark{CPU: 10 * time.Millisecond, Mallocs: 5100}, Server: Mark{CPU: 20 * time.Millisecond, Mallocs: 50}}
	idle := Window{Length: 100 * time.Millisecond, Client: Mark{Mallocs: 10}, Server: Mark{Mallocs: 10}}
	r := newRow(Setting{Peer: "p", Rate: 5}, res, busy, idle)
	if r.Mode != "open" || r.CPU != 30 || r.ClientCPU != 10 || r.ServerCPU != 20 || r.ClientAllocs != 5 || r.ServerAllocs != 0 {
		t.Errorf("row %+v", r.Figures)
	}
}

func TestTakeOff(t *testing.T) {
	null := &Row{Figures: &Figures{Calls: 1000, Waits: 800, ClientCPU: 20}}
	for name, c := range map[string]struct {
		waits                  uint64
		client, server         float64
		wantClient, wantServer float64
		wantCPU                float64
	}{
		"as idle as null":           {800, 50, 30, 30, 30, 60},
		"half of the calls overdue": {400, 50, 30, 40, 30, 70},
		"all overdue":               {0, 50, 30, 50, 30, 80},
		"more waits than null":      {1000, 50, 30, 30, 30, 60},
		"less than null":            {800, 15, 30, 0, 30, 30},
	} {
		r := &Row{Figures: &Figures{Calls: 1000, Waits: c.waits, ClientCPU: c.client, ServerCPU: c.server, CPU: c.client + c.server}}
		r.TakeOff(null)
		if r.ClientCPU != c.wantClient || r.ServerCPU != c.wantServer || r.CPU != c.wantCPU || r.GeneratorCPU != c.client-c.wantClient {
			t.Errorf("%s: %+v", name, r.Figures)
		}
	}
}

// TestNull holds that null looks at its answers as every peer does.
func TestNull(t *testing.T) {
	target, err := Null().Dial(t.Context(), "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	call, err := target.Caller(t.Context(), 0, "text")
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(3) {
		if err := call(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	target.Close()
}
