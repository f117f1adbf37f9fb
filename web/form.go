package web

import (
	"strings"

	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/http2"
)

// A form is the protocol of a request on HTTP, which its content type says.
type form uint8

const (
	formUnknown form = iota // or none
	formGRPC
	formConnect
)

// contentType is what requests and answers of gRPC have.
const contentType = "application/grpc"

// kindOf is the content type among fields; "": there is none.
func kindOf(lists ...[]http2.Field) (kind string) {
	for _, list := range lists {
		for _, f := range list {
			if f.Name == "content-type" {
				kind = f.Value
			}
		}
	}
	return kind
}

// formOf is the form of a request.
func formOf(method, kind string) form {
	switch {
	case method == "GET":
		return formConnect // of which a GET says the rest in its path
	case method != "POST":
		return formUnknown
	case isGRPC(kind):
		return formGRPC
	case connect.Speaks(kind):
		return formConnect
	}
	return formUnknown
}

// isGRPC reports the content types of gRPC whose messages are Protobuf's.
func isGRPC(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	kind = strings.ToLower(strings.TrimRight(kind, " "))
	return kind == contentType || kind == contentType+"+proto"
}

// The Tag of a request is for its answer.
const (
	tagGzip   = 1 << iota // the answer may be compressed
	tagOne                // it is of Connect, and one message
	tagMany               // it is of Connect, and a stream
	tagMethod             // with status 405: GET is taken as well
	tagShift  = 8         // the status of HTTP that it is refused with, if that is not its code's

	tagConnect = tagOne | tagMany
)

// tagOf is the Tag of a request of Connect.
func tagOf(r *connect.Request) uint64 {
	tag := uint64(tagOne)
	if r.Stream {
		tag = tagMany
	}
	if !r.Unpacked {
		tag |= tagGzip
	}
	if r.Err != nil {
		tag |= uint64(r.Status) << tagShift
	}
	if r.Allow != "" && r.Allow != "POST" {
		tag |= tagMethod
	}
	return tag
}
