package gen_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/gen"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// orchard is a server whose methods take views and give them back changed.
type orchard struct {
	lazy.UnimplementedOrchard
	dropped chan int64
}

func (orchard) Echo(_ context.Context, e *lazy.LazyEverything, times int32) (*lazy.LazyEverything, error) {
	if times == 0 {
		return nil, &lazy.Rotten{Why: e.G(), Leaf: &lazy.Leaf{ID: 7}}
	}
	e.SetD(e.D() * times)
	e.Leaf().SetName(e.Leaf().Name() + "!")
	return e, nil
}

func (orchard) Plain(_ context.Context, e *lazy.Everything) (*lazy.Everything, error) { return e, nil }

func (o orchard) Drop(_ context.Context, leaf *lazy.LazyLeaf) error {
	defer leaf.Release()
	o.dropped <- leaf.ID()
	return nil
}

// A method that is annotated takes and gives views on both sides, as a caller of
// its plain twin would see.
func TestLazyMethods(t *testing.T) {
	s := orchard{dropped: make(chan int64, 1)}
	checkOrchard(t, s, limosa.Local(lazy.OrchardService(s)))
}

// The same over connections, in both protocols.
func TestLazyMethodsInEveryForm(t *testing.T) {
	s := orchard{dropped: make(chan int64, 1)}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- (&limosa.Server{Services: []rpc.Service{lazy.OrchardService(s)}}).Serve(serving, l)
	}()
	for form := limosa.TTHeader; form <= limosa.THeaderCompact; form++ {
		t.Run(form.String(), func(t *testing.T) {
			c := &limosa.Client{Target: l.Addr().String() + "?thrift=" + form.String()}
			defer c.Close()
			checkOrchard(t, s, c)
		})
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func checkOrchard(t *testing.T, s orchard, over rpc.Caller) {
	t.Helper()
	c := lazy.NewOrchardClient(over)
	var _ lazy.Orchard = c
	want := &lazy.Everything{D: 21, G: "why", Leaf: &lazy.Leaf{Name: "leaf"}, Le: []int64{1, 2}}
	x, err := thrift.NewLazy[lazy.LazyEverything](want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Echo(t.Context(), x, 2)
	if err != nil {
		t.Fatal(err)
	}
	want.D, want.Leaf.Name = 42, "leaf!"
	plain, err := got.Plain()
	if err != nil {
		t.Fatal(err)
	}
	got.Release()
	// The plain method says what becomes of nil containers on the way.
	if want, err = c.Plain(t.Context(), want); err != nil || !reflect.DeepEqual(plain, want) {
		t.Errorf("%+v, %v; want %+v", plain, err, want)
	}
	_, err = c.Echo(t.Context(), x, 0)
	if e, ok := errors.AsType[*lazy.Rotten](err); !ok || e.Why != "why" || e.Leaf.ID != 7 {
		t.Errorf("the exception: %v", err)
	}
	leaf, err := thrift.NewLazy[lazy.LazyLeaf](&lazy.Leaf{ID: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(t.Context(), leaf); err != nil || <-s.dropped != 5 {
		t.Error(err)
	}
}

func TestLazyAnnotations(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no view":   {"struct A {}\nservice S { A f(1: A a) (lazy) }", "a.thrift:2:15: method S.f is lazy, but neither an argument nor the result is a struct that has (lazy) as well"},
		"nothing":   {"service S { i32 f(1: i32 a) (lazy) }", "a.thrift:1:17: method S.f is lazy"},
		"a default": {"struct A { 1: i32 x } (lazy)\nservice S { void f(1: A a = {'x': 1}) (lazy) }", "a.thrift:2:25: the argument a of a lazy method has a default"},
		"fine":      {"struct A {} (lazy)\nservice S { A f(1: A a, 2: i32 b) (lazy), A g(1: A a) (lazy = 'false') }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := thriftidl.Reader{Open: func(string) ([]byte, error) { return []byte(tt.text), nil }}.Load("a.thrift")
			if err != nil {
				t.Fatal(err)
			}
			files, err := gen.Config{}.Generate(s)
			if tt.want == "" {
				if err != nil || !strings.Contains(files[1].Content, "F(ctx context.Context, a *LazyA, b int32) (*LazyA, error)") || !strings.Contains(files[1].Content, "G(ctx context.Context, a *A) (*A, error)") {
					t.Errorf("%v\n%s", err, files)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
		})
	}
}

// Views of all structs of all IDLs here compile, whatever their names.
func TestLazyForAll(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: compiling takes a while")
	}
	out := filepath.Join("testdata", "lazyall")
	dir, err := filepath.Abs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The code is compiled as a part of this module, where it is not.
	overlay := strings.Builder{}
	overlay.WriteString(`{"Replace": {`)
	s, err := thriftidl.Reader{}.Load("testdata/idl/hello.thrift", "testdata/idl/clash.thrift", "testdata/idl/lazy.thrift")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	files, err := gen.Config{Prefix: "github.com/limosa-rpc/limosa/gen/testdata/lazyall", Lazy: true}.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	pkgs := map[string]bool{}
	for i, f := range files {
		real := filepath.Join(dir, filepath.FromSlash(f.Path))
		save(t, real, f.Content)
		if i > 0 {
			overlay.WriteString(", ")
		}
		overlay.WriteString(strconv.Quote(filepath.Join(here, out, filepath.FromSlash(f.Path))) + ": " + strconv.Quote(real))
		pkgs["./"+filepath.ToSlash(filepath.Join(out, filepath.Dir(filepath.FromSlash(f.Path))))] = true
	}
	overlay.WriteString("}}")
	save(t, filepath.Join(dir, "overlay.json"), overlay.String())
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json")}
	for p := range pkgs {
		args = append(args, p)
	}
	if text, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
