package gen_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/clash"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/hello"
	alone "github.com/limosa-rpc/limosa/gen/testdata/golden/no_namespace"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/shared"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

//go:generate go run ./limosa-gen -q -out testdata/golden testdata/idl

// server answers as a test needs it; what it does not have is unimplemented.
type server struct {
	hello.UnimplementedHello
	fired chan int32
	saw   func(*rpc.Call)
}

func (s server) Root(ctx context.Context, v string) (string, error) {
	if s.saw != nil {
		s.saw(rpc.FromContext(ctx))
	}
	return "root " + v, nil
}
func (s server) Echo(_ context.Context, m *hello.Everything) (*hello.Everything, error) {
	return m, nil
}
func (s server) Ping(context.Context) error                                         { return nil }
func (s server) Fire(_ context.Context, n int32) error                              { s.fired <- n; return nil }
func (s server) Add(_ context.Context, a, b int32) (int32, error)                   { return a + b, nil }
func (s server) Flag(_ context.Context, on bool) (bool, error)                      { return !on, nil }
func (s server) Color(_ context.Context, c hello.Color) (hello.Color, error)        { return c, nil }
func (s server) Text(_ context.Context, v string) (string, error)                   { return v, nil }
func (s server) Bytes(_ context.Context, b []byte) ([]byte, error)                  { return b, nil }
func (s server) ID(_ context.Context, id thrift.UUID) (thrift.UUID, error)          { return id, nil }
func (s server) Numbers(context.Context, []int32) ([]int32, error)                  { return nil, nil }
func (s server) Names(_ context.Context, n hello.Names) (thrift.Set[string], error) { return n, nil }
func (s server) Choose(_ context.Context, c hello.Choice) (hello.Choice, error)     { return c, nil }
func (s server) Counts(_ context.Context, m map[string]int32) (map[string]int32, error) {
	return m, nil
}
func (s server) Pairs(_ context.Context, p thrift.Pairs[*hello.Point, int32]) (thrift.Pairs[*hello.Point, int32], error) {
	return p, nil
}
func (s server) Find(_ context.Context, how int32) (*hello.Point, error) {
	switch how {
	case 0:
		return nil, &hello.NotFound{Message: "nowhere", At: &hello.Point{X: 4}}
	case 1:
		return nil, &shared.Far{Miles: 9}
	case 2:
		return nil, nil
	}
	return nil, rpc.Errorf(rpc.OutOfRange, "how %d", how)
}
func (s server) Check(_ context.Context, how int32) error {
	switch how {
	case 0:
		return &hello.Teapot{Spouts: 2, Color: hello.ColorBLUE}
	case 1:
		return &hello.Plain{}
	}
	return nil
}

func everything() *hello.Everything {
	p := &hello.Point{X: 1, Y: new(2.5), Color: hello.ColorTEAL}
	return &hello.Everything{
		A: true, B: -1, C: 2, D: 3, E: 4, F: 5.5, G: "g", H: []byte("h"), I: thrift.UUID{1, 2},
		Oa: new(false), Ob: new(int8(1)), Oc: new(int16(2)), Od: new(int32(3)), Oe: new(int64(4)), Of: new(0.0), Og: new(""),
		Oh: []byte{}, Oi: new(thrift.UUID{3}), Oj: new(hello.ColorDark),
		Nested:  [][]thrift.Set[map[string]*hello.Point]{{{{"p": p}}}},
		Bins:    thrift.Set[[]byte]{[]byte("b")},
		Keyed:   thrift.Pairs[*hello.Point, string]{{Key: p, Value: "v"}},
		ByColor: map[hello.Color]int64{hello.ColorRED: 7}, ByUUID: map[thrift.UUID]int32{{9}: 1},
		Wild:   thrift.Pairs[[]int32, thrift.Set[hello.Names]]{{Key: []int32{1}, Value: thrift.Set[hello.Names]{{"n"}}}},
		Choice: &hello.ChoiceAgain{Again: &hello.ChoicePoints{Points: []*hello.Point{p}}},
		Choices: []hello.Choice{&hello.ChoiceNumber{Number: 5}, &hello.ChoiceText{Text: "t"}, &hello.ChoicePoint{Point: p},
			&hello.ChoiceBytes{Bytes: []byte("x")}},
		Place: p, Needed: p, Size: shared.KindBIG, Thing: &shared.Thing{Kind: shared.KindSMALL, Note: new("n")},
		Flags: map[bool]float64{true: 1}, Weights: map[float64][]byte{1.5: []byte("w")},
		//lint:ignore SA1019 a deprecated field is a field
		URL: "u", UserID: "id", HTTPServer: "s",
	}
}

func TestCalls(t *testing.T) {
	s := server{fired: make(chan int32, 1)}
	c := hello.NewClient(limosa.Local(hello.Service(s)))
	ctx := t.Context()
	var _ hello.Hello = c // the client is an implementation too

	want := everything()
	if got, err := c.Echo(ctx, want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("echo: %v\n got %+v\nwant %+v", err, got, want)
	}
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Fire(ctx, 3); err != nil || <-s.fired != 3 {
		t.Error(err)
	}
	same[int32](t, "add", 9)(c.Add(ctx, 2, 7))
	same(t, "flag", true)(c.Flag(ctx, false))
	same(t, "color", hello.ColorGREEN)(c.Color(ctx, hello.ColorGREEN))
	same(t, "text", "")(c.Text(ctx, ""))
	same(t, "bytes", []byte{})(c.Bytes(ctx, nil))
	same(t, "id", thrift.UUID{5})(c.ID(ctx, thrift.UUID{5}))
	same(t, "numbers", []int32{})(c.Numbers(ctx, []int32{1})) // the handler returns nil: an empty list, not "no result"
	same(t, "names", thrift.Set[string]{"a"})(c.Names(ctx, hello.Names{"a"}))
	same(t, "counts", map[string]int32{"a": 1})(c.Counts(ctx, map[string]int32{"a": 1}))
	pairs := thrift.Pairs[*hello.Point, int32]{{Key: &hello.Point{X: 1, Y: new(1.0)}, Value: 2}}
	same(t, "pairs", pairs)(c.Pairs(ctx, pairs))
	same[hello.Choice](t, "choose", &hello.ChoiceText{Text: "x"})(c.Choose(ctx, &hello.ChoiceText{Text: "x"}))
	//lint:ignore SA1019 a deprecated method is a method
	if err := c.Old(ctx); !errors.Is(err, rpc.Unimplemented) {
		t.Errorf("a method that is not there: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// closes counts how often a caller was closed.
type closes struct {
	rpc.Caller
	n int
}

func (c *closes) Close() error {
	c.n++
	return c.Caller.Close()
}

// A client closes what it has dialled, and no caller that others may share.
func TestCloseIsForWhatWasDialled(t *testing.T) {
	c := &closes{Caller: limosa.Local(hello.HelloService(server{fired: make(chan int32, 1)}))}
	if err := errors.Join(shared.NewRootClient(c).Close(), hello.NewHelloClient(c).Close()); err != nil || c.n != 0 {
		t.Errorf("Close of clients on a caller that is shared: %v, it was closed %d times", err, c.n)
	}
	dialled, err := hello.Dial("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := dialled.Close(); err != nil {
		t.Error(err)
	}
	if err := dialled.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a call of a dialled client that was closed: %v", err)
	}
}

func same[T any](t *testing.T, what string, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, want)
		}
	}
}

func TestExceptions(t *testing.T) {
	c := hello.NewHelloClient(limosa.Local(hello.HelloService(server{})))
	ctx := t.Context()
	_, err := c.Find(ctx, 0)
	if e, ok := errors.AsType[*hello.NotFound](err); !ok || e.At.X != 4 || e.Error() != "NotFound: nowhere" {
		t.Errorf("find 0: %v", err)
	}
	_, err = c.Find(ctx, 1)
	if e, ok := errors.AsType[*shared.Far](err); !ok || e.Miles != 9 {
		t.Errorf("find 1: %v", err)
	}
	if p, err := c.Find(ctx, 2); p != nil || rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("find 2: %v, %v", p, err)
	}
	if _, err := c.Find(ctx, 3); !errors.Is(err, rpc.OutOfRange) {
		t.Errorf("find 3: %v", err)
	}
	if err := c.Check(ctx, 0); err == nil || err.Error() != "Teapot: spouts=2 color=BLUE" {
		t.Errorf("check 0: %v", err)
	}
	if _, ok := errors.AsType[*hello.Plain](c.Check(ctx, 1)); !ok {
		t.Error("check 1")
	}
	if err := c.Check(ctx, 2); err != nil {
		t.Error(err)
	}
}

// An inherited method is called under the child's name, which is the one that
// the server has.
func TestInherited(t *testing.T) {
	var service, method string
	s := server{saw: func(c *rpc.Call) { service, method = c.Service, c.Method.String() }}
	c := hello.NewClient(limosa.Local(hello.Service(s)))
	got, err := c.Root(t.Context(), "x")
	if got != "root x" || err != nil || service != "Hello" || method != "Root/root" {
		t.Errorf("%q, %v as %q %q", got, err, service, method)
	}
}

func TestConsts(t *testing.T) {
	const typed int8 = hello.SMALL // a Go constant
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"text", hello.Text, "a \"quoted\"\n`line`"},
		{"min", hello.LONG, int64(-9223372036854775808)},
		{"whole", hello.WHOLE, 7.0},
		{"bytes", hello.BYTES(), []byte("bytes")},
		{"uuid", hello.ID().String(), "00112233-4455-6677-8899-aabbccddeeff"},
		{"list", hello.LIST(), []int32{1, -128, 3}},
		{"set", hello.SET(), thrift.Set[int32]{1, 2}},
		{"map", hello.MAP(), map[string][]int32{"a": {1}, "b": {}, "c": {1, -128, 3}}},
		{"pairs", hello.PAIRS(), thrift.Pairs[*hello.Point, string]{{Key: &hello.Point{X: 1, Y: new(1.5), Color: hello.ColorRED}, Value: "one"}}},
		{"same", hello.SAME, hello.ColorBLUE},
		{"number of an enum", hello.FROM_ENUM, int32(16)},
		{"struct", hello.ORIGIN(), &hello.Point{X: 1, Y: new(2.5), Color: hello.ColorRED}},
		{"union", hello.CHOICE(), hello.Choice(&hello.ChoiceText{Text: "hi"})},
		{"far struct", hello.THING(), &shared.Thing{Kind: shared.KindSMALL, Note: new("none")}},
		{"far list", hello.FAR_NAMES(), []string{"a", "b"}},
		{"default", clash.NewUses().Many[0].S, "d"},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	hello.LIST()[0] = 100
	if typed != -128 || hello.LIST()[0] != 1 {
		t.Error("a constant can be changed")
	}
}

func TestEnums(t *testing.T) {
	for _, name := range []string{"RED", "BLUE", "GREEN", "dark"} {
		if c, err := hello.ParseColor(name); err != nil || c.String() != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	// Two names of one number: the first one is shown.
	if c, err := hello.ParseColor("TEAL"); err != nil || c.String() != "GREEN" {
		t.Errorf("TEAL: %v, %v", c, err)
	}
	if _, err := hello.ParseColor("PINK"); err == nil || hello.Color(99).String() != "Color(99)" {
		t.Error("unknown values")
	}
}

// The embedded schema is the IDL, and can be read back.
func TestEmbeddedIDL(t *testing.T) {
	s, err := thriftidl.Unpack(hello.Service(server{}).IDL)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Files, func(f *idl.File) bool { return f.Name == "hello" })
	if i < 0 || len(s.Files) != 2 {
		t.Fatalf("%d files", len(s.Files))
	}
	orig, err := thriftidl.Reader{}.Load("testdata/idl/hello.thrift")
	if err != nil {
		t.Fatal(err)
	}
	want, got := orig.Files[1], s.Files[i]
	if len(got.Structs) != len(want.Structs) || got.Services[0].Parent.Name != "Root" || len(got.Services[0].Methods) != len(want.Services[0].Methods) {
		t.Error("the embedded schema differs from the file")
	}
	if got, want := got.Consts[5].Value.Text, want.Consts[5].Value.Text; got != want {
		t.Errorf("string %q, want %q", got, want)
	}
	err = limosa.Local(alone.Service(nil)).Do(t.Context(), stub.Make(&rpc.Method{}, "", nil, nil))
	if rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), "nil") {
		t.Errorf("a service of nil is taken: %v", err)
	}
	if alone.Service(nil).IDL != alone.NoNamespaceIDL() {
		t.Error("a file without includes is its own schema")
	}
}
