package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/cmd/shop"
	"github.com/limosa-rpc/limosa/gen"
)

// Every path shows every method, every call is verified, and with -o json
// stdout holds rows and nothing else.
func TestDemo(t *testing.T) {
	code, out, errs := runTool(t, "", "demo", "-d", "1800ms", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	seen := make(map[string][]string)
	for line := range strings.Lines(out) {
		var r demoRow
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Calls == 0 || r.Calls != r.Verified || r.Errors != 0 || r.P99 < r.P50 {
			t.Errorf("%s", line)
		}
		seen[r.Path] = append(seen[r.Path], r.Method)
	}
	for _, path := range []string{"tcp", "unix", "inproc"} {
		if len(seen[path]) != len(demoMethods()) {
			t.Errorf("%s has the rows %v", path, seen[path])
		}
	}
	if !strings.HasPrefix(errs, "a shop of three services") {
		t.Errorf("the first line is missing:\n%s", errs)
	}
}

func TestDemoTable(t *testing.T) {
	code, out, errs := runTool(t, "", "demo", "-d", "360ms")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 1+1+3*len(demoMethods())+2 || !strings.HasSuffix(out, "every answer was right\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// A service that answers wrongly must not pass: the demo is run with
// expectations of which one product in four differs.
func TestDemoFindsWrongAnswers(t *testing.T) {
	for name, spoil := range map[string]func(*goods){
		"name":     func(g *goods) { g.products[0].Name += "?" },
		"tag":      func(g *goods) { g.products[0].Tags[1] = "" },
		"optional": func(g *goods) { g.products[0].WeightKg = nil },
	} {
		want := newGoods()
		spoil(want)
		if sameProduct(productOf(firstID), want.product(firstID)) {
			t.Errorf("%s: not noticed", name)
		}
	}
	want := newGoods()
	for i := 0; i < len(want.products); i += 4 {
		want.products[i].Sku = "something else"
	}
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	d := &demoRun{want: want, view: newView(&errs, false), each: 50 * time.Millisecond}
	if err := d.path(t.Context(), "inproc", demoMethods()[:1]); err != nil {
		t.Fatal(err)
	}
	err := d.verdict(a, true)
	if err == nil || !strings.Contains(err.Error(), "answers were wrong; the first: Catalog/product over inproc, call ") {
		t.Errorf("verdict: %v", err)
	}
	if r := d.rows[0]; r.Errors == 0 || r.Errors+r.Verified != r.Calls {
		t.Errorf("%+v", r)
	}
}

// Each method alone, so that a mistake shows with its name: a hundred calls on
// each path, and none may be like the one before.
func TestDemoMethods(t *testing.T) {
	want := newGoods()
	for _, path := range demoPaths() {
		s, err := openShop(t.Context(), path, newGoods())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range demoMethods() {
			for seq := range uint64(100) {
				if err := m.call(t.Context(), s, want, seq); err != nil {
					t.Fatalf("%s over %s, call %d: %v", m.name, path, seq, err)
				}
			}
		}
		if err := s.close(); err != nil {
			t.Errorf("%s: close: %v", path, err)
		}
	}
}

func TestGoods(t *testing.T) {
	for c := shop.Category(1); c <= categories; c++ {
		for n := range int64(3) {
			if id := inCategory(c, n); categoryOf(id) != c || id < firstID || id >= firstID+4*categories {
				t.Errorf("%d of category %v is %d, of category %v", n, c, id, categoryOf(id))
			}
		}
	}
	for _, id := range []int64{firstID, firstID + 1, lastID - 3, lastID} {
		for _, r := range relatedTo(id, relatedShown) {
			if r == id || !known(r) || categoryOf(r) != categoryOf(id) {
				t.Errorf("%d is related to %d", r, id)
			}
		}
	}
	if stockOf(firstID) != 0 {
		t.Error("the first product is meant to be sold out")
	}
}

// The code of the demo's IDL is what the generator makes of it today.
func TestShopIsFresh(t *testing.T) {
	var out, errs bytes.Buffer
	cmd := gen.Command{Dir: "../shop", Stdout: &out, Stderr: &errs}
	if code := cmd.Run([]string{"-check", "-out", "..", "shop.thrift"}); code != 0 {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// What is linked into the tool decides how long its first build takes; the
// modules are listed so that a new one is a decision.
func TestModules(t *testing.T) {
	needGo(t)
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(out))
	slices.Sort(paths)
	if paths = slices.Compact(paths); len(paths) > 15 { // three are protocompile and what it needs, for .proto files; golang.org/x/net has HPACK
		t.Errorf("%d modules are linked: %v", len(paths), paths)
	}
}

// watcher cancels when something is written to it.
type watcher struct {
	bytes.Buffer
	text   string
	cancel func()
}

func (w *watcher) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.cancel()
	}
	return w.Buffer.Write(p)
}

func TestDemoInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	errs := &watcher{text: "not found", cancel: interrupt}
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: errs}
	code := a.run(ctx, []string{"limosa", "demo", "-d", "3s", "-o", "json"})
	if code != 1 || out.Len() != 0 || !strings.HasSuffix(errs.String(), "limosa demo: interrupted\n") {
		t.Errorf("exit code %d\n%s%s", code, &out, errs)
	}
}

// The demo's services are asked by anybody who finds their ports: no number makes them panic or
// run for long.
func TestDemoTakesAnyNumber(t *testing.T) {
	catalog := &catalogServer{newGoods()}
	for limit, want := range map[int32]int{math.MinInt32: 0, -1: 0, 0: 0, 3: 3, math.MaxInt32: 100} {
		if ids, err := catalog.Related(t.Context(), firstID, limit); err != nil || len(ids) != want {
			t.Errorf("%d related ones: %d, %v", limit, len(ids), err)
		}
		for _, offset := range []int32{math.MinInt32, 0, math.MaxInt32} {
			if list, err := catalog.Search(t.Context(), &shop.Query{Category: 1, Offset: offset, Limit: limit}); err != nil || len(list) > int(lastID) {
				t.Errorf("a search for %d from %d: %d, %v", limit, offset, len(list), err)
			}
		}
	}
}
