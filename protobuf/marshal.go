package protobuf

import (
	"github.com/limosa-rpc/limosa/buf"
)

// Marshal encodes msg into bytes that are the caller's: for who stores a message, or sends it by
// other means. Errors are those of Codec.Append.
func Marshal(msg any) ([]byte, error) { return Append(nil, msg) }

// Append appends msg to b, as Marshal encodes it, and gives the longer slice; with an error, b. It borrows
// b's memory and gives back that, or more.
func Append(b []byte, msg any) ([]byte, error) { return Codec{}.AppendBytes(b, msg) }

// AppendBytes is the function Append with the codec's settings.
func (c Codec) AppendBytes(b []byte, msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	if err := c.Append(&out, msg); err != nil {
		return b, err
	}
	if b == nil {
		return out.Bytes(), nil
	}
	for out.Len() > 0 {
		n := 0
		for _, piece := range out.Iov(nil) {
			b = append(b, piece...)
			n += len(piece)
		}
		out.Sent(n)
	}
	return b, nil
}

// Unmarshal replaces what msg holds by the message that b is. It borrows b: msg refers to nothing of
// it. Memory is bounded as it is for a message that came from a peer with the default [rpc.Limits], nesting by 100 levels; where that
// is not enough for a message of one's own, Codec.Decode takes others. Errors are those of Codec.Decode.
func Unmarshal(b []byte, msg any) error {
	body, release := lent(b)
	defer release()
	return Codec{}.Decode(body, msg, nil)
}

// lent makes a View of b that nothing refers to when it is released.
func lent(b []byte) (body buf.View, release func()) {
	if len(b) < buf.MaxBlock/2 {
		return buf.ViewOf(b), func() {}
	}
	// Long strings would refer to a view of b. One of memory that is somebody
	// else's has them copied.
	var block buf.Block
	block.Init(b, func(*buf.Block) {})
	body = block.View(0, len(b))
	return body, func() {
		body.Release()
		block.Release()
	}
}
