package connect_test

import (
	"slices"
	"testing"

	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/rpc"
)

// The heads of requests of streams: what they are written in, how they are compressed, and
// whether they are refused as a stream is, in its last envelope, or by a status of HTTP.
func TestReadStreams(t *testing.T) {
	const proto, json = "application/connect+proto", "application/connect+json"
	for _, x := range []struct {
		path   string
		fields []string
		stream bool
		packed bool
		code   rpc.Code
	}{
		{"/a.Words/All", []string{"content-type", proto}, true, false, rpc.OK},
		{"/a.Words/All", []string{"content-type", json + "; charset=utf-8"}, true, false, rpc.OK},
		{"/a.Words/All", []string{"content-type", proto, "connect-content-encoding", "gzip"}, true, true, rpc.OK},
		{"/a.Words/All", []string{"connect-content-encoding", "gzip", "content-type", proto}, true, true, rpc.OK},
		{"/a.Words/All", []string{"content-type", proto, "content-encoding", "br"}, true, false, rpc.OK}, // which is none of a stream's
		{"/a.Words/All", []string{"content-type", proto, "connect-content-encoding", "br"}, true, false, rpc.Unimplemented},
		{"/a.Words/All", []string{"content-type", proto, "connect-timeout-ms", "x"}, true, false, rpc.InvalidArgument},
		{"/a.Words/None", []string{"content-type", json}, true, false, rpc.Unimplemented},
		{"/a.Words/Say", []string{"content-type", proto}, false, false, rpc.Unimplemented},
		{"/a.Words/All", []string{"content-type", "application/connect+xml"}, false, false, rpc.Unimplemented},
		{"/a.Words/Say", []string{"content-type", "application/proto", "connect-content-encoding", "br"}, false, false, rpc.OK},
	} {
		r := read("POST", x.path, x.fields...)
		if r.Stream != x.stream || r.Packed != x.packed || rpc.CodeOf(errorOf(r)) != x.code {
			t.Errorf("%s %v: stream %v, packed %v, %v", x.path, x.fields, r.Stream, r.Packed, r.Err)
		}
		if want := slices.ContainsFunc(x.fields, func(f string) bool { return f == json || f == json+"; charset=utf-8" }); (r.Encoding == rpc.JSON) != want {
			t.Errorf("%s %v: %v", x.path, x.fields, r.Encoding)
		}
		if r.NoStreams(); r.Stream || x.stream && r.Err == nil {
			t.Errorf("%s %v: where none are carried %v", x.path, x.fields, r.Err)
		}
	}
	for kind, want := range map[string]bool{proto: true, "Application/JSON ; x=y": true, "application/grpc": false, "application/connect+xml": false, "": false} {
		if connect.Speaks(kind) != want {
			t.Errorf("%q", kind)
		}
	}
}

// errorOf is what a request is refused with, nil if it is not.
func errorOf(r connect.Request) error {
	if r.Err == nil {
		return nil
	}
	return r.Err
}
