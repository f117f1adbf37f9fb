package grpc

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
)

// Gzip is the name of the one compression besides none.
const Gzip = "gzip"

// inflaters belong to no connection: each takes 44 KB.
var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// An inflater inflates what src reads.
type inflater struct {
	src bytes.Reader
	z   gzip.Reader
}

// Inflate gives the message that body compresses, of most bytes at the most: what it may become
// is for the caller to know (rpc.Limits.InflateBudget). It borrows body; the View is the caller's.
func Inflate(body []byte, most int) (buf.View, *rpc.Error) {
	f := inflaters.Get().(*inflater)
	defer func() {
		f.src.Reset(nil) // it is not to refer to body
		inflaters.Put(f)
	}()
	f.src.Reset(body)
	b, n, err := f.inflate(min(most+1, 4*len(body)+1), most)
	v := b.View(0, n)
	b.Release()
	switch {
	case n > most:
		v.Release()
		return buf.View{}, &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Sent: rpc.Processed, Msg: fmt.Sprintf("the message becomes more than %d bytes", most)}
	case err != nil:
		v.Release()
		return buf.View{}, &rpc.Error{Code: rpc.Internal, Op: "receive", Sent: rpc.Processed, Msg: "the compressed message makes no sense: " + err.Error()}
	}
	return v, nil
}

// inflate fills the first n bytes of a block that is the caller's, whatever the error:
// most+1 at most. It grows as it fills, so that it is never much larger than what came.
func (f *inflater) inflate(first, most int) (b *buf.Block, n int, err error) {
	b = buf.Acquire(first)
	if err = f.z.Reset(&f.src); err == io.EOF {
		err = io.ErrUnexpectedEOF // nothing is no gzip, not even that of nothing
	}
	for err == nil && n <= most {
		mem := b.Mem()
		if n == len(mem) {
			grown := buf.Acquire(min(most+1, 2*n))
			copy(grown.Mem(), mem)
			b.Release()
			b, mem = grown, grown.Mem()
		}
		var got int
		got, err = f.z.Read(mem[n:min(len(mem), most+1)])
		n += got
	}
	if err == io.EOF {
		err = nil
	}
	return b, n, err
}

// deflaters are writers of gzip, each of which takes up to a megabyte.
var deflaters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // of a level that is none
	}
	return z
}}

// appender is an Out as a writer.
type appender struct{ out *buf.Out }

// Write implements io.Writer; an Out takes whatever it is given.
func (a appender) Write(p []byte) (int, error) {
	a.out.Append(p)
	return len(p), nil
}

// Deflate compresses what body holds, in its place.
func Deflate(body *buf.Out) error {
	plain := body.Take(buf.Mark{})
	defer plain.Release()
	z := deflaters.Get().(*gzip.Writer)
	defer func() {
		z.Reset(io.Discard) // it is not to refer to body
		deflaters.Put(z)
	}()
	z.Reset(appender{body})
	if _, err := z.Write(plain.Bytes()); err != nil {
		return err
	}
	return z.Close()
}
