package thrift

import (
	"bytes"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/rpc"
)

// Marshal encodes msg by [Binary] into bytes that are the caller's: for who stores a
// message, or sends it by other means. Errors are those of Binary.Append.
func Marshal(msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	if err := (Binary{}).Append(&out, msg); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unmarshal replaces what msg holds by the message that Marshal made b of. It borrows b:
// msg refers to nothing of it, lazy views included. Memory is bounded as it is for a
// message that came from a peer with the default [rpc.Limits]; where that is not
// enough for a message of one's own, Binary.Decode takes others. Errors are those of
// Binary.Decode.
func Unmarshal(b []byte, msg any) error {
	pl, _, err := plan.Of(msg)
	switch {
	case err != nil:
		return &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	case pl.HasViews:
		b = bytes.Clone(b)
	case len(b) >= buf.MaxBlock/2:
		// Long strings would refer to a view of b. One of memory that is somebody
		// else's has them copied.
		var block buf.Block
		block.Init(b, func(*buf.Block) {})
		defer block.Release()
		body := block.View(0, len(b))
		defer body.Release()
		return Binary{}.Decode(body, msg, nil)
	}
	return Binary{}.Decode(buf.ViewOf(b), msg, nil)
}
