package metamorph_test

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/limosa-rpc/limosa/internal/metamorph/gen/ledger"
	"github.com/limosa-rpc/limosa/internal/metamorph/gen/ledgerpb"
	"github.com/limosa-rpc/limosa/rpc"
)

// noteKey is the metadata that calls send, and answerKey what comes back.
const noteKey, answerKey = "x-note", "x-answer"

// book is the service. Keys begin with a lane, which has numbers and entries of its own, so
// that what one lane does is not changed by what others do meanwhile.
type book struct {
	mu struct {
		sync.Mutex
		lanes map[string]*lane
	}
}

// A lane is what those calls have left that come one after the other.
type lane struct {
	sequence, sum int64
	entries       map[string]*ledger.Entry
}

// with runs f on the lane of a key.
func (b *book) with(ctx context.Context, key string, f func(*lane)) {
	if call := rpc.FromContext(ctx); call.Header.Has(noteKey) {
		call.Trailer.Set(answerKey, strings.ToUpper(call.Header.Get(noteKey)))
	}
	name, _, _ := strings.Cut(key, "/")
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.mu.lanes[name]
	if l == nil {
		if b.mu.lanes == nil {
			b.mu.lanes = map[string]*lane{}
		}
		l = &lane{entries: map[string]*ledger.Entry{}}
		b.mu.lanes[name] = l
	}
	f(l)
}

func (b *book) Put(ctx context.Context, e *ledger.Entry) (r *ledger.Receipt, err error) {
	b.with(ctx, e.Key, func(l *lane) {
		l.sequence++
		l.sum += e.Amount
		r = &ledger.Receipt{Sequence: l.sequence, Sum: l.sum, Old: l.entries[e.Key]}
		l.entries[e.Key] = e
	})
	return r, nil
}

func (b *book) Get(ctx context.Context, k *ledger.Key) (e *ledger.Entry, err error) {
	b.with(ctx, k.Key, func(l *lane) {
		if e = l.entries[k.Key]; e == nil {
			err = rpc.Errorf(rpc.NotFound, "no entry %q", k.Key)
		}
	})
	return e, err
}

func (b *book) Fail(_ context.Context, f *ledger.Failure) (*ledger.Receipt, error) {
	if f.Code < 0 {
		panic(f.Text)
	}
	return nil, rpc.Errorf(rpc.Code(f.Code), "%s", f.Text)
}

func (b *book) Wait(ctx context.Context, _ *ledger.Key) (*ledger.Receipt, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Scan gives k.Most entries of those that begin with k.Key, in order, and then fails if that is below zero.
func (b *book) Scan(ctx context.Context, k *ledger.Key) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		var all []*ledger.Entry
		b.with(ctx, k.Key, func(l *lane) {
			for key, e := range l.entries {
				if strings.HasPrefix(key, k.Key) {
					all = append(all, e)
				}
			}
		})
		slices.SortFunc(all, func(a, b *ledger.Entry) int { return cmp.Compare(a.Key, b.Key) })
		most := int(max(k.Most, -k.Most))
		for _, e := range all[:min(len(all), most)] {
			if !yield(e, nil) {
				return
			}
		}
		if k.Most < 0 {
			yield(nil, rpc.Errorf(rpc.Aborted, "no more than %d", most))
		}
	}
}

func (b *book) Total(ctx context.Context, entries iter.Seq2[*ledger.Entry, error]) (*ledger.Receipt, error) {
	last := new(ledger.Receipt)
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if last, err = b.Put(ctx, e); err != nil {
			return nil, err
		}
	}
	return last, nil
}

func (b *book) Merge(ctx context.Context, entries iter.Seq2[*ledger.Entry, error]) iter.Seq2[*ledger.Receipt, error] {
	return func(yield func(*ledger.Receipt, error) bool) {
		for e, err := range entries {
			if err != nil {
				yield(nil, err)
				return
			}
			if r, err := b.Put(ctx, e); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// protoBook serves a ledger of Thrift's types as one of Protobuf's.
type protoBook struct{ of ledger.Ledger }

func (b protoBook) Put(ctx context.Context, e *ledgerpb.Entry) (*ledgerpb.Receipt, error) {
	r, err := b.of.Put(ctx, as[ledger.Entry](e))
	return as[ledgerpb.Receipt](r), err
}

func (b protoBook) Get(ctx context.Context, k *ledgerpb.Key) (*ledgerpb.Entry, error) {
	e, err := b.of.Get(ctx, as[ledger.Key](k))
	return as[ledgerpb.Entry](e), err
}

func (b protoBook) Fail(ctx context.Context, f *ledgerpb.Failure) (*ledgerpb.Receipt, error) {
	r, err := b.of.Fail(ctx, as[ledger.Failure](f))
	return as[ledgerpb.Receipt](r), err
}

func (b protoBook) Wait(ctx context.Context, k *ledgerpb.Key) (*ledgerpb.Receipt, error) {
	r, err := b.of.Wait(ctx, as[ledger.Key](k))
	return as[ledgerpb.Receipt](r), err
}

func (b protoBook) Scan(ctx context.Context, k *ledgerpb.Key) iter.Seq2[*ledgerpb.Entry, error] {
	return each[ledgerpb.Entry](b.of.Scan(ctx, as[ledger.Key](k)))
}

func (b protoBook) Total(ctx context.Context, in iter.Seq2[*ledgerpb.Entry, error]) (*ledgerpb.Receipt, error) {
	r, err := b.of.Total(ctx, each[ledger.Entry](in))
	return as[ledgerpb.Receipt](r), err
}

func (b protoBook) Merge(ctx context.Context, in iter.Seq2[*ledgerpb.Entry, error]) iter.Seq2[*ledgerpb.Receipt, error] {
	return each[ledgerpb.Receipt](b.of.Merge(ctx, each[ledger.Entry](in)))
}

// protoClient is a client of Protobuf's ledger with Thrift's types.
type protoClient struct{ of ledgerpb.Ledger }

func (c protoClient) Put(ctx context.Context, e *ledger.Entry) (*ledger.Receipt, error) {
	r, err := c.of.Put(ctx, as[ledgerpb.Entry](e))
	return as[ledger.Receipt](r), err
}

func (c protoClient) Get(ctx context.Context, k *ledger.Key) (*ledger.Entry, error) {
	e, err := c.of.Get(ctx, as[ledgerpb.Key](k))
	return as[ledger.Entry](e), err
}

func (c protoClient) Fail(ctx context.Context, f *ledger.Failure) (*ledger.Receipt, error) {
	r, err := c.of.Fail(ctx, as[ledgerpb.Failure](f))
	return as[ledger.Receipt](r), err
}

func (c protoClient) Wait(ctx context.Context, k *ledger.Key) (*ledger.Receipt, error) {
	r, err := c.of.Wait(ctx, as[ledgerpb.Key](k))
	return as[ledger.Receipt](r), err
}

func (c protoClient) Scan(ctx context.Context, k *ledger.Key) iter.Seq2[*ledger.Entry, error] {
	return each[ledger.Entry](c.of.Scan(ctx, as[ledgerpb.Key](k)))
}

func (c protoClient) Total(ctx context.Context, in iter.Seq2[*ledger.Entry, error]) (*ledger.Receipt, error) {
	r, err := c.of.Total(ctx, each[ledgerpb.Entry](in))
	return as[ledger.Receipt](r), err
}

func (c protoClient) Merge(ctx context.Context, in iter.Seq2[*ledger.Entry, error]) iter.Seq2[*ledger.Receipt, error] {
	return each[ledger.Receipt](c.of.Merge(ctx, each[ledgerpb.Entry](in)))
}

// each gives the messages of a stream as T.
func each[T, F any](seq iter.Seq2[*F, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for m, err := range seq {
			if !yield(as[T](m), err) {
				return
			}
		}
	}
}

// as gives a message of one IDL as the same of the other: fields by their names.
func as[T, F any](m *F) *T {
	if m == nil {
		return nil
	}
	to := new(T)
	copyFields(reflect.ValueOf(to).Elem(), reflect.ValueOf(m).Elem())
	return to
}

// copyFields sets the fields of a struct to those of the same names.
func copyFields(to, from reflect.Value) {
	for f, v := range from.Fields() {
		at := to.FieldByName(f.Name)
		switch {
		case !f.IsExported():
		case f.Type == at.Type():
			at.Set(v)
		case f.Type.Kind() != reflect.Pointer:
			at.Set(v.Convert(at.Type()))
		case !v.IsNil():
			at.Set(reflect.New(at.Type().Elem()))
			copyFields(at.Elem(), v.Elem())
		}
	}
}
