package ttheader

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Compressed messages: a THeader may say that the message behind it, envelope and all,
// is a stream of zlib (RFC 1950). So not even the method is known before it is
// inflated, which takes time and may make much of little (a bomb). Cut therefore leaves
// such a message as it is (wire.Packed), and the goroutine that serves it, or has
// called, inflates it here, within three bounds: that of a message, that of the room
// that the engine has for it, and that of what came (rpc.Limits.InflateBudget).

// Unpack implements [wire.Session]. Nothing that was compressed is inflated
// anywhere else, and never while a batch is cut.
func (s *Session) Unpack(ev *wire.Event, most int) *rpc.Error {
	packed := ev.Body
	defer packed.Release()
	ev.Body, ev.Flags = buf.View{}, ev.Flags&^(wire.Packed|wire.Message)
	most = max(0, min(most, s.lim.InflateBudget(packed.Len())))
	b, n, err := inflate(packed.Bytes(), most)
	defer b.Release()

	// The envelope is read of what is too large as well: the answer has its id.
	f := frame{shape: shapeTHeader, compact: ev.Encoding == rpc.Compact}
	p := b.Mem()[:n]
	f.old = s.p.NonStrict && !f.compact && n > 0 && p[0] < 0x80
	bad := f.envelope(p)
	if bad == nil {
		bad = s.unpacked(ev, &f)
	}
	switch {
	case errors.Is(err, errTooLarge):
		ev.Err = &rpc.Error{Code: rpc.ResourceExhausted, Msg: fmt.Sprintf("compressed message of more than %d bytes, from %d", most, packed.Len())}
	case err != nil:
		ev.Err = &rpc.Error{Code: rpc.DataLoss, Msg: "compressed message: " + err.Error()}
	case bad != nil:
		ev.Err = &rpc.Error{Code: rpc.DataLoss, Msg: "compressed message: " + bad.Error()}
	default:
		ev.Body, ev.Flags = b.View(f.body, n), ev.Flags|wire.Message
		if f.typ == raw.Exception {
			exception(ev, &header{})
		}
		return nil
	}
	if ev.Err.Sent = rpc.Refused; s.side == wire.Client {
		ev.Err.Op, ev.Err.Sent = "receive", rpc.Processed
	}
	return ev.Err
}

// unpacked makes ev what the envelope of its message says.
func (s *Session) unpacked(ev *wire.Event, f *frame) error {
	seq := uint32(f.seq)
	if s.side == wire.Client {
		ev.ID, ev.Method = uint64(seq), string(s.answered(f.name))
		if f.typ != raw.Reply && f.typ != raw.Exception {
			return errors.New(f.typ.String() + " from a server")
		}
		return nil
	}
	service, method := called(nil, f.name)
	ev.Service, ev.Method = string(service), string(method)
	ev.Tag[0] = ev.Tag[0]&(1<<32-1) | uint64(seq)<<32
	if f.old {
		ev.Tag[0] |= tagOld
	}
	switch f.typ {
	case raw.Call:
	case raw.Oneway:
		ev.Flags |= wire.Oneway
	default:
		return errors.New(f.typ.String() + " from a client")
	}
	return nil
}

// errTooLarge is why inflate stops.
var errTooLarge = errors.New("too large")

// inflaters belong to no connection: each takes 44 KB.
var inflaters sync.Pool

// An inflater inflates what src reads.
type inflater struct {
	src bytes.Reader
	r   interface {
		io.Reader
		zlib.Resetter
	}
}

// reset has z begin anew, with p, which it borrows until it is put back.
func (z *inflater) reset(p []byte) error {
	z.src.Reset(p)
	if z.r != nil {
		return z.r.Reset(&z.src, nil)
	}
	r, err := zlib.NewReader(&z.src)
	if err != nil {
		return err
	}
	again, ok := r.(zlib.Resetter)
	if !ok {
		return errors.New("the reader of zlib cannot be used again")
	}
	z.r = struct {
		io.Reader
		zlib.Resetter
	}{r, again}
	return nil
}

// put gives z back to all connections. It refers to nothing then.
func (z *inflater) put() {
	z.src.Reset(nil)
	inflaters.Put(z)
}

// inflate undoes a compression. The block is the caller's; its first n bytes are
// filled, whatever the error: most+1 at most. It grows as it fills, so that it is
// never much larger than what came.
func inflate(p []byte, most int) (b *buf.Block, n int, err error) {
	b = buf.Acquire(min(most+1, 4*len(p)))
	z, _ := inflaters.Get().(*inflater)
	if z == nil {
		z = new(inflater)
	}
	defer z.put()
	err = z.reset(p)
	for err == nil && n <= most {
		mem := b.Mem()
		if n == len(mem) {
			grown := buf.Acquire(min(most+1, 2*n))
			copy(grown.Mem(), mem)
			b.Release()
			b, mem = grown, grown.Mem()
		}
		var got int
		got, err = z.r.Read(mem[n:min(len(mem), most+1)])
		n += got
	}
	switch {
	case n > most:
		err = errTooLarge
	case err == io.EOF:
		err = nil
	}
	return b, n, err
}

// deflaters are writers of zlib, each of which takes up to a megabyte.
var deflaters sync.Pool

// appender is an Out as a writer.
type appender struct{ out *buf.Out }

// Write implements io.Writer; an Out takes whatever it is given.
func (a appender) Write(p []byte) (int, error) {
	a.out.Append(p)
	return len(p), nil
}

// Pack implements [wire.Session]: once, with little effort, and not of errors,
// which are short.
func (s *Session) Pack(ev *wire.Event, body *buf.Out) error {
	if ev.Tag[0]&tagZlib == 0 || ev.Err != nil {
		return nil
	}
	plain := body.Take(buf.Mark{})
	defer plain.Release()
	head := s.appendEnvelope(nil, ev, raw.Reply)
	if n := len(head) + plain.Len(); n > s.lim.MessageBytes {
		e := sizeErr(n, s.lim)
		e.Op, e.Sent = "encode", rpc.NotSent
		return e
	}
	w, _ := deflaters.Get().(*zlib.Writer)
	if w == nil {
		var err error
		if w, err = zlib.NewWriterLevel(io.Discard, zlib.BestSpeed); err != nil {
			return err
		}
	}
	defer func() {
		w.Reset(io.Discard) // it is not to refer to body
		deflaters.Put(w)
	}()
	w.Reset(appender{body})
	_, err := w.Write(head)
	if err == nil {
		_, err = w.Write(plain.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		ev.Flags |= wire.Packed
	}
	return err
}

// Held implements [wire.Session].
func (s *Session) Held() int {
	return s.in.unfinished.held() + s.in.names.held() + s.in.skipper.Held()
}
