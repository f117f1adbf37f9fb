package gen_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/kinds"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// needy reads its arguments without a look, as handlers do.
type needy struct{ kinds.Unimplemented }

func (needy) Branch(_ context.Context, a *kinds.Branch, _ int32) (*kinds.Branch, error) {
	return &kinds.Branch{Leaf: a.Leaf}, nil
}

func (needy) Leaves(_ context.Context, a *kinds.Leaf, _ thrift.Set[*kinds.Leaf], _ int32, _ string, _ []int64, _ map[string]string, _ []string,
	_ map[int32]*kinds.Leaf, i *kinds.Leaf, _ int64, _ []*kinds.Leaf, _ []byte, _ bool, _ kinds.Choice) ([]*kinds.Leaf, error) {
	c := *a
	d := *i
	return []*kinds.Leaf{&c, &d}, nil
}

func (needy) There(_ context.Context, a *kinds.Leaf, b kinds.Choice) (bool, error) {
	return a != nil || b != nil, nil
}

// A struct argument that a caller leaves out is refused before the handler, which would
// panic, with the names of the method and the argument. An optional one is nil for the
// handler, as an unset union is.
func TestMissingArguments(t *testing.T) {
	ln, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s, ended := &limosa.Server{Services: []rpc.Service{kinds.Service(needy{})}}, make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	dialed, err := limosa.Dial(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		dialed.Close()
		stop()
		<-ended
	}()
	for name, caller := range map[string]rpc.Caller{"tcp": dialed, "local": limosa.Local(kinds.Service(needy{}))} {
		c := kinds.NewClient(caller)
		refused := func(err error, want string) {
			t.Helper()
			if !errors.Is(err, rpc.InvalidArgument) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want InvalidArgument, %s", name, err, want)
			}
		}
		_, err := c.Branch(ctx, nil, 1)
		refused(err, "the argument a of Kinds/branch is missing")
		_, err = c.Leaves(ctx, &kinds.Leaf{}, nil, 0, "", nil, nil, nil, nil, nil, 0, nil, nil, false, nil)
		refused(err, "the argument i of Kinds/leaves is missing")
		if got, err := c.Branch(ctx, &kinds.Branch{Leaf: &kinds.Leaf{}}, 1); err != nil || got.Leaf == nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if there, err := c.There(ctx, nil, nil); err != nil || there {
			t.Errorf("%s: what is optional is there: %v, %v", name, there, err)
		}
		if there, err := c.There(ctx, &kinds.Leaf{}, nil); err != nil || !there {
			t.Errorf("%s: what is optional is not there: %v, %v", name, there, err)
		}
	}
}
