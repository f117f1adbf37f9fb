package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
)

// serveAs has a server tell services that may be anything, as a hostile one does.
func serveAs(t *testing.T, services ...rpc.Service) string {
	t.Helper()
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := &limosa.Server{Services: reflection.With(services...), Drain: time.Second}
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// allocated gives what f allocates, in bytes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A text that many services name is read once: a thousand names of a few bytes were a
// thousand copies of it.
func TestManyServicesOfOneText(t *testing.T) {
	text := "#file a.thrift\nservice S {}\n//" + strings.Repeat("x", 100_000) + "\n"
	services := make([]rpc.Service, 2000)
	for i := range services {
		services[i] = rpc.Service{Name: fmt.Sprintf("S%d", i), IDL: text}
	}
	addr := serveAs(t, services...)
	if took := allocated(func() {
		if code, _, errs := runTool(t, "", "list", addr); code != 0 {
			t.Errorf("%d: %s", code, errs)
		}
	}); took > 20<<20 {
		t.Errorf("%d bytes allocated for a text of 100 KB", took)
	}
}

// What is made of a text takes many times its size: a long one is refused before.
func TestLongTextIsNotRead(t *testing.T) {
	t.Chdir(t.TempDir()) // no ./idl here
	addr := serveAs(t, rpc.Service{Name: "S", IDL: "#file a.thrift\n" + strings.Repeat(";", 5<<20)})
	code, _, errs := runTool(t, "", "list", addr)
	if want := "the server's IDL has"; code != 1 || !strings.Contains(errs, want) {
		t.Errorf("%d: %s; want %s", code, errs, want)
	}
}

// The request to fill in is an example: structs within structs do not multiply in it.
func TestSampleIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "struct S%d {\n", i)
		for id := range 6 {
			fmt.Fprintf(&b, "%d: S%d f%[1]d\n", id+1, i+1)
		}
		b.WriteString("}\n")
	}
	b.WriteString("struct S8 { 1: i32 n }\nservice S { void m(1: S0 s) }\n")
	addr := serveAs(t, rpc.Service{Name: "S", IDL: "#file a.thrift\n" + b.String()})
	code, out, errs := runTool(t, "", "describe", addr, "S/m")
	if code != 0 || len(out) > 200_000 {
		t.Errorf("%d: %d bytes of an IDL of %d, %s", code, len(out), b.Len(), errs)
	}
}

// A constant that many fields have as their default is shown in each of them as an IDL
// would: by its name, if it is long.
func TestLargeDefaultsAreNotRepeated(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "const string C = \"%s\"\nstruct R {\n", strings.Repeat("x", 10_000))
	for id := range 1000 {
		fmt.Fprintf(&b, "%d: string f%[1]d = C\n", id+1)
	}
	b.WriteString("}\nservice S { void m(1: R r) }\n")
	addr := serveAs(t, rpc.Service{Name: "S", IDL: "#file a.thrift\n" + b.String()})
	for _, what := range []string{"S/m", "R"} {
		code, out, errs := runTool(t, "", "describe", addr, what)
		if code != 0 || len(out) > 300_000 {
			t.Errorf("%s: %d: %d bytes of an IDL of %d, %s", what, code, len(out), b.Len(), errs)
		}
	}
}

// What a server says is shown, and never obeyed: a terminal takes orders from escapes
// in any text that it is given.
func TestEscapesOfServers(t *testing.T) {
	const evil = "\x1b]0;owned\a\x1b[2J\u009b31m\x7f\u202e"
	text := "#file a.thrift\n/** doc" + evil + " */\nstruct R { 1: string s = \"" + evil + "\" }\nservice S { /** m" + evil + " */ R m(1: R r) }\n"
	said := rpc.Service{Name: "S", IDL: text, Methods: []rpc.Handler{
		handler("m", rpc.Unary, nil, func(_ context.Context, c *rpc.Call, _ *noteArgs, _ *i64Result) error {
			c.Trailer.Add("k"+"x", evil)
			return rpc.Errorf(rpc.NotFound, "no "+evil)
		}),
	}}
	addr := serveAs(t, said, rpc.Service{Name: "Bare" + evil})
	for _, args := range [][]string{
		{"list", addr}, {"list", "-o", "json", addr}, {"describe", addr, "S/m"}, {"describe", addr, "R"}, {"describe", "-o", "json", addr, "S/m"},
		{"call", "-v", addr, "S/m"}, {"call", "-o", "json", addr, "S/m"}, {"describe", addr, "nope"},
	} {
		_, out, errs := runTool(t, "", args...)
		for _, r := range out + errs {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%v: %q", args, out+errs)
				break
			}
		}
	}
}

// Methods of a parent are shown at each service that has them, and not for ever: of a text
// of 60 KB that were a hundred megabytes.
func TestInheritedMethodsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("service P {\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "void m%d()\n", i)
	}
	b.WriteString("}\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "service S%d extends P { void own() }\n", i)
	}
	text := "#file a.thrift\n" + b.String()
	services := make([]rpc.Service, 0, 2001)
	for i := range 2000 {
		services = append(services, rpc.Service{Name: fmt.Sprintf("S%d", i), IDL: text})
	}
	addr := serveAs(t, services...)
	for _, how := range []string{"text", "json"} {
		code, out, errs := runTool(t, "", "list", "-o", how, addr)
		if code != 0 || len(out) > 3<<20 {
			t.Errorf("%s: %d: %d bytes of an IDL of %d, %s", how, code, len(out), len(text), errs)
		}
		if n := strings.Count(out, "void own()"); n != 2000 {
			t.Errorf("%s: %d of 2000 services have a method of their own", how, n)
		}
		if how == "text" && !strings.Contains(out, "  (and 2000 methods of P)\n") || how == "json" && !strings.Contains(out, `"omitted":2000`) {
			t.Errorf("%s: what is left out is not told", how)
		}
	}
}

// A name that a server says again and again is shown once.
func TestRepeatedNamesAreListedOnce(t *testing.T) {
	svc := &idl.Service{Name: "S", Methods: []*idl.Method{{Name: "m", Result: &idl.Type{Kind: idl.I32}}}}
	s := &schema{Schema: &idl.Schema{Files: []*idl.File{{Services: []*idl.Service{svc}}}}, served: slices.Repeat([]rpc.Service{{Name: "S"}}, 1000)}
	var out strings.Builder
	a := app{stdout: &out}
	if err := a.list(s, false); err != nil || out.Len() > 100 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}
