package gen_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/stream"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/shared"
	"github.com/limosa-rpc/limosa/rpc"
)

// streamer implements every shape; what it does not have is unimplemented.
type streamer struct{ stream.UnimplementedHello }

func (streamer) Echo(_ context.Context, n *stream.Number) (*stream.Number, error) { return n, nil }

func (streamer) Count(_ context.Context, n *stream.Number) iter.Seq2[*stream.Number, error] {
	return numbers(n.N)
}

func (streamer) Sum(_ context.Context, in iter.Seq2[*stream.Amount, error]) (*stream.Number, error) {
	sum := new(stream.Number)
	for n, err := range in {
		if err != nil {
			return nil, err
		}
		if sum.N += n.N; n.N == 13 {
			return nil, nil
		}
	}
	return sum, nil
}

func (streamer) Chat(_ context.Context, in iter.Seq2[*stream.Number, error]) iter.Seq2[*stream.Number, error] {
	return in
}

func (streamer) Things(_ context.Context, thing *shared.Thing) iter.Seq2[*shared.Thing, error] {
	return limosa.Values(slices.Values([]*shared.Thing{thing}))
}

func numbers(to int64) iter.Seq2[*stream.Number, error] {
	return func(yield func(*stream.Number, error) bool) {
		for i := range to {
			if !yield(&stream.Number{N: i + 1}, nil) {
				return
			}
		}
	}
}

func TestGeneratedStreams(t *testing.T) {
	ctx := t.Context()
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- (&limosa.Server{Services: []rpc.Service{stream.HelloService(streamer{})}}).Serve(serving, l)
	}()
	remote, err := stream.Dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]stream.Hello{"tcp": remote, "local": stream.NewClient(limosa.Local(stream.Service(streamer{})))} {
		if n, err := c.Echo(ctx, &stream.Number{N: 7}); err != nil || n.N != 7 {
			t.Errorf("%s: echo %v, %v", name, n, err)
		}
		var got []int64
		for n, err := range c.Count(ctx, &stream.Number{N: 4}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n.N)
		}
		if !slices.Equal(got, []int64{1, 2, 3, 4}) {
			t.Errorf("%s: count %v", name, got)
		}
		if n, err := c.Sum(ctx, numbers(10)); err != nil || n.N != 55 {
			t.Errorf("%s: sum %v, %v", name, n, err)
		}
		if n, err := c.Sum(ctx, limosa.Values(slices.Values([]*stream.Amount{{N: 13}}))); rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%s: a handler without an answer gives %v, %v", name, n, err)
		}
		chat := c.Chat(ctx, numbers(3))
		got = nil
		for n, err := range chat {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n.N)
		}
		if !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("%s: chat %v", name, got)
		}
		for _, err := range chat {
			if rpc.CodeOf(err) != rpc.FailedPrecondition {
				t.Errorf("%s: iterated again: %v", name, err)
			}
		}
		for thing, err := range c.Things(ctx, &shared.Thing{Kind: shared.KindBIG}) {
			if err != nil || thing.Kind != shared.KindBIG {
				t.Errorf("%s: things %v, %v", name, thing, err)
			}
		}
		for _, err := range c.Plus(ctx, numbers(1)) {
			if rpc.CodeOf(err) != rpc.Unimplemented {
				t.Errorf("%s: a method that is not there: %v", name, err)
			}
		}
	}
	remote.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
