package main

import (
	"fmt"
	"reflect"

	"github.com/limosa-rpc/limosa/bench/codec/shapes"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// lazyOps is what views are for. proxy: a message comes in, a few of its fields
// are read (of numbers all of them), one is set, it goes out. decode: everything
// in it is read, as strings and numbers that outlive it. A message is brought into
// a block of the pools, as for decoding.
func lazyOps(s *shape) map[string]codecOp {
	switch msg := s.msg.(type) {
	case *shapes.Wide:
		return map[string]codecOp{"proxy": proxyOp(msg, func(x *shapes.LazyWide) {
			x.SetN46(x.N9() + int64(len(x.S42())))
		}, func(m *shapes.Wide) { m.N46 = m.N9 + int64(len(m.S42)) })}
	case *shapes.Numbers:
		return map[string]codecOp{"proxy": proxyOp(msg, func(x *shapes.LazyNumbers) {
			x.SetID(addUp(x.Numbers()))
		}, func(m *shapes.Numbers) {
			m.ID = 0
			for _, n := range m.Numbers {
				m.ID += n
			}
		})}
	case *shapes.Medium:
		return map[string]codecOp{"decode": readOp(msg)}
	}
	return nil
}

// addUp reads every number of a lazy list, since a view that nobody reads costs nothing.
func addUp(list thrift.LazyNumbers[int64]) (sum int64) {
	for i := range list.Len() {
		sum += list.At(i)
	}
	return sum
}

// received is a message as a receive leaves it.
func received(wire []byte) buf.View {
	b := buf.Acquire(len(wire))
	copy(b.Mem(), wire)
	v := b.View(0, len(wire))
	b.Release()
	return v
}

// wireOf is msg in the Binary protocol.
func wireOf(msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	err := thrift.Binary{}.Append(&out, msg)
	return out.Bytes(), err
}

// proxyOp forwards msg through a view that touch changes; same does that to the
// plain message.
func proxyOp[L, V any, P thrift.LazyView[V]](msg *L, touch func(P), same func(*L)) codecOp {
	wire, err := wireOf(msg)
	if err != nil {
		return failing(err)["decode"]
	}
	lim := rpc.Limits{}.WithDefaults()
	var out buf.Out
	forward := func() error {
		v := received(wire)
		x, err := thrift.OpenLazy[V, P](v, lim)
		v.Release()
		if err != nil {
			return err
		}
		touch(x)
		out.Reset()
		err = thrift.Binary{}.Append(&out, x)
		any(x).(interface{ Release() }).Release()
		return err
	}
	return codecOp{len(wire), func(n int) error {
		for range n {
			if err := forward(); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		got, want := new(L), new(L)
		*want = *msg
		same(want)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(out.Bytes()), got, lim); err != nil {
			return err
		}
		if !reflect.DeepEqual(got, want) {
			return errDiffers
		}
		return nil
	}}
}

// A tally is what was read of a message: enough to tell whether it was all.
type tally struct {
	numbers, bytes int64
	last           string
}

// number and text take a value into the sum, by which the compiler cannot leave the reading away.
func (t *tally) number(n int64) { t.numbers = t.numbers*3 + n }

func (t *tally) text(s string) {
	t.bytes += int64(len(s))
	t.last = s
}

// readOp reads all of a message.
func readOp(msg *shapes.Medium) codecOp {
	wire, err := wireOf(msg)
	if err != nil {
		return failing(err)["decode"]
	}
	lim := rpc.Limits{}.WithDefaults()
	got := new(tally)
	return codecOp{len(wire), func(n int) error {
		for range n {
			v := received(wire)
			x, err := thrift.OpenLazy[shapes.LazyMedium](v, lim)
			v.Release()
			if err != nil {
				return err
			}
			*got = tally{}
			readLazy(got, x)
			x.Release()
		}
		return nil
	}, func() error {
		want := new(tally)
		readPlain(want, msg)
		if got.numbers != want.numbers || got.bytes != want.bytes {
			return fmt.Errorf("%w: %d, %d read, %d, %d are in it", errDiffers, got.numbers, got.bytes, want.numbers, want.bytes)
		}
		return nil
	}}
}

// readLazy reads all fields of a view.
func readLazy(t *tally, x *shapes.LazyMedium) {
	t.number(x.ID())
	h := x.Head()
	t.number(h.ID())
	t.number(int64(h.Kind()))
	t.text(h.Sku())
	t.text(h.Name())
	t.number(int64(h.Price()))
	t.number(int64(h.Count()))
	if h.Live() {
		t.number(1)
	}
	t.text(h.Owner())
	t.number(h.Made())
	t.text(h.Note())
	for _, i := range x.Items().All() {
		t.number(i.ID())
		t.text(i.Sku())
		t.text(i.Name())
		t.number(int64(i.Price()))
		t.number(int64(i.Count()))
		if i.Live() {
			t.number(1)
		}
		t.number(i.Made())
		t.text(i.Note())
	}
	for k, v := range x.Tags().All() {
		t.text(k)
		t.text(v)
	}
	for _, w := range x.Words().All() {
		t.text(w)
	}
	for _, c := range x.Counts().All() {
		t.number(int64(c))
	}
	t.bytes += int64(len(x.Blob()))
}

// readPlain reads the same fields of a decoded message.
func readPlain(t *tally, x *shapes.Medium) {
	t.number(x.ID)
	h := x.Head
	for _, n := range []int64{h.ID, int64(h.Kind), int64(h.Price), int64(h.Count), 1, h.Made} {
		t.number(n) // h is live
	}
	t.bytes += int64(len(h.Sku) + len(h.Name) + len(h.Owner) + len(h.Note))
	for _, i := range x.Items {
		for _, n := range []int64{i.ID, int64(i.Price), int64(i.Count), 1, i.Made} {
			t.number(n)
		}
		t.bytes += int64(len(i.Sku) + len(i.Name) + len(i.Note))
	}
	for k, v := range x.Tags {
		t.bytes += int64(len(k) + len(v))
	}
	for _, w := range x.Words {
		t.bytes += int64(len(w))
	}
	for _, c := range x.Counts {
		t.number(int64(c))
	}
	t.bytes += int64(len(x.Blob))
}
