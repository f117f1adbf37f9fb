package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	apachethrift "github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/protobuf/proto"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
)

// Every decode begins with bytes that are brought into a buffer: into a block
// from the pools where Limosa receives into one, into the peer's own, which it
// uses again and again. Every encode ends with the bytes in a buffer that is
// used again, which is the best that each peer can do.

// errDiffers says that what came out is not what went in.
var errDiffers = errors.New("the message came out differently")

// limosaOps are encode and decode by Limosa's codec.
func limosaOps[L any](msg *L, codec rpc.Codec) map[string]codecOp {
	lim := rpc.Limits{}.WithDefaults()
	var out buf.Out
	if err := codec.Append(&out, msg); err != nil {
		return failing(err)
	}
	wire := out.Bytes()
	out.Reset()
	// As on a connection that is in use: messages follow each other, and blocks stay.
	out.AppendString("held")
	held := out.Mark()
	last := held
	var in receiver
	var got *L
	return map[string]codecOp{
		"encode": {len(wire), func(n int) error {
			for range n {
				if out.Len() > combined {
					out.Truncate(held)
				}
				last = out.Mark()
				if err := codec.Append(&out, msg); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			back := new(L)
			v := out.Take(last)
			err := codec.Decode(v, back, lim)
			v.Release()
			return same(err, reflect.DeepEqual(back, msg))
		}},
		"decode": {len(wire), func(n int) error {
			for range n {
				v := in.receive(wire)
				got = new(L)
				err := codec.Decode(v, got, lim)
				v.Release()
				if err != nil {
					return err
				}
			}
			return nil
		}, func() error { return same(nil, reflect.DeepEqual(got, msg)) }},
	}
}

// combined is how many bytes of messages follow each other before they count as
// sent.
const combined = 8 << 10

// A receiver brings messages to where a receive leaves them: small ones share a
// connection's block, larger ones have blocks of their own, as in buf.In.
type receiver struct{ in buf.In }

// receive brings bytes to where a connection would have them: in a counted block, not in a slice that is there anyway.
func (r *receiver) receive(wire []byte) buf.View {
	if len(wire) >= 16<<10 {
		return received(wire)
	}
	r.in.Expect(len(wire))
	r.in.Filled(copy(r.in.Space(), wire))
	return r.in.View(len(wire))
}

// apacheMessage is a struct as Apache's compiler generates it.
type apacheMessage[A any] interface {
	*A
	apachethrift.TStruct
}

// apacheOps are the same by Apache Thrift, over its memory transport.
func apacheOps[A any, P apacheMessage[A]](msg P) map[string]codecOp {
	ctx, conf := context.Background(), &apachethrift.TConfiguration{}
	out := apachethrift.NewTMemoryBuffer()
	w := apachethrift.NewTBinaryProtocolConf(out, conf)
	if err := msg.Write(ctx, w); err != nil {
		return failing(err)
	}
	wire := bytes.Clone(out.Bytes())
	in := apachethrift.NewTMemoryBuffer()
	r := apachethrift.NewTBinaryProtocolConf(in, conf)
	var got P
	return map[string]codecOp{
		"encode": {len(wire), func(n int) error {
			for range n {
				out.Reset()
				if err := msg.Write(ctx, w); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			in.Reset()
			in.Write(out.Bytes())
			back := P(new(A))
			err := back.Read(ctx, r)
			return same(err, reflect.DeepEqual(back, msg))
		}},
		"decode": {len(wire), func(n int) error {
			for range n {
				in.Reset()
				in.Write(wire)
				got = P(new(A))
				if err := got.Read(ctx, r); err != nil {
					return err
				}
			}
			return nil
		}, func() error { return same(nil, reflect.DeepEqual(got, msg)) }},
	}
}

// protoMessage is a message with the methods of both generators.
type protoMessage[P any] interface {
	*P
	proto.Message
	SizeVT() int
	MarshalToSizedBufferVT(b []byte) (int, error)
	UnmarshalVT(b []byte) error
}

// protoOps are the same by Protobuf, with the official run time, or with vtprotobuf's generated code.
func protoOps[P any, PP protoMessage[P]](msg PP, vt bool) map[string]codecOp {
	var out []byte
	encode := func() (err error) {
		out, err = proto.MarshalOptions{}.MarshalAppend(out[:0], msg)
		return err
	}
	decode := func(b []byte, into PP) error { return proto.Unmarshal(b, into) }
	if vt {
		encode = func() error {
			n := msg.SizeVT()
			if n > cap(out) {
				out = make([]byte, n)
			}
			out = out[:n]
			_, err := msg.MarshalToSizedBufferVT(out)
			return err
		}
		decode = func(b []byte, into PP) error { return into.UnmarshalVT(b) }
	}
	if err := encode(); err != nil {
		return failing(err)
	}
	wire := bytes.Clone(out)
	in := make([]byte, len(wire))
	var got PP
	return map[string]codecOp{
		"encode": {len(wire), func(n int) error {
			for range n {
				if err := encode(); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			back := PP(new(P))
			err := proto.Unmarshal(out, back)
			return same(err, proto.Equal(back, msg))
		}},
		"decode": {len(wire), func(n int) error {
			for range n {
				copy(in, wire)
				got = PP(new(P))
				if err := decode(in, got); err != nil {
					return err
				}
			}
			return nil
		}, func() error { return same(nil, proto.Equal(got, msg)) }},
	}
}

// same makes an error of a message that came back as another one: a codec that is fast and wrong is no peer.
func same(err error, equal bool) error {
	if err == nil && !equal {
		return errDiffers
	}
	return err
}

// failing is the operations of a peer that cannot even encode a message.
func failing(err error) map[string]codecOp {
	fail := codecOp{run: func(int) error { return fmt.Errorf("encoding it once: %w", err) }, check: func() error { return nil }}
	return map[string]codecOp{"encode": fail, "decode": fail}
}
