package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
)

// tagGzip, in a request's Tag, says that its answer may be compressed.
const tagGzip = 1 << 0

// contentType is what requests and answers have.
const contentType = "application/grpc"

// A head is what the header fields of a request say.
type head struct {
	status          int    // not 0: it is none of gRPC, and answered so
	kind            string // content-type; "": not among the fields that were read
	service, method string
	stream          bool
	gzip            bool // what is compressed is so by gzip, else by nothing that is known
	tag             uint64
	timeout         time.Duration
	md              rpc.Metadata
	err             *rpc.Error // why it cannot be served
}

// heads are those of the header lists that came last: http2 gives the same list, at the
// same address, for the same bytes.
type heads struct {
	lists [headPlaces]*http2.Fields
	heads [headPlaces]*head
	bytes [headPlaces]int
	next  int
	all   int // bytes
}

const (
	headPlaces = 8
	headMost   = 2 << 10 // bytes of a list that is remembered
)

func (c *heads) held() int { return c.all }

// headOf gives the head of a request's list. It is shared.
func (s *Session) headOf(list *http2.Fields) *head {
	c := &s.in.heads
	for i := range c.lists {
		if c.lists[i] == list {
			return c.heads[i]
		}
	}
	h := s.newHead(list)
	size := 0
	for _, f := range list.List {
		size += len(f.Name) + len(f.Value) + 64
	}
	if size <= headMost {
		i := c.next % headPlaces
		c.next++
		c.all += size - c.bytes[i]
		c.lists[i], c.heads[i], c.bytes[i] = list, h, size
	}
	return h
}

// gathers says of the head of a request that it is one message.
func (s *Session) gathers(list *http2.Fields) bool {
	h := s.headOf(list)
	return h.status == 0 && h.err == nil && !h.stream
}

// newHead reads the head of a request.
func (s *Session) newHead(list *http2.Fields) *head {
	h := &head{}
	if list.Method != "POST" {
		h.status = 405
	}
	h.take(list.List, s.lim.HeaderEntries)
	if h.kind != "" && !isGRPC(h.kind) {
		h.status = 415
	}
	path, found := strings.CutPrefix(list.Path, "/")
	i := strings.LastIndexByte(path, '/')
	if !found || i < 0 {
		h.err = &rpc.Error{Code: rpc.Unimplemented, Msg: fmt.Sprintf("%q is no path of a method", clipped(list.Path))}
		return h
	}
	h.service, h.method = path[:i], path[i+1:]
	h.find(s.p.Find)
	return h
}

// clipped bounds what of a path comes back: a peer's table may make one byte of it.
func clipped(path string) string { return path[:min(len(path), 100)] }

// isGRPC reports the content types of gRPC whose messages are Protobuf's.
func isGRPC(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	kind = strings.ToLower(strings.TrimRight(kind, " "))
	return kind == contentType || kind == contentType+"+proto"
}

// find finds out what kind of method it is.
func (h *head) find(find func(service, method string) *rpc.Method) {
	var m *rpc.Method
	if find != nil {
		m = find(h.service, h.method)
	}
	why := ""
	switch {
	case m == nil:
		why = "no method " + clipped(h.service+"/"+h.method) + " here"
	case m.Kind == rpc.Oneway || thrift(m):
		why = m.String() + " is a method of Thrift, which gRPC does not carry"
	default:
		h.stream = m.Kind > rpc.Oneway
	}
	if why != "" && h.err == nil {
		h.err = &rpc.Error{Code: rpc.Unimplemented, Msg: why}
	}
}

// thrift reports methods whose messages are none of Protobuf's: they wrap arguments.
func thrift(m *rpc.Method) bool {
	_, wraps := m.Codec.(rpc.Unwrapper)
	return wraps
}

// take takes fields in, and of values that are many in one so many pairs at most.
func (h *head) take(fields []http2.Field, most int) {
	for _, f := range fields {
		switch f.Name {
		case "content-type":
			h.kind = f.Value
		case "grpc-timeout":
			d, ok := grpc.ParseTimeout(f.Value)
			if !ok {
				h.fail(rpc.Internal, "malformed grpc-timeout")
			}
			h.timeout = d
		case "grpc-encoding":
			switch f.Value {
			case grpc.Gzip:
				h.gzip = true
			case "identity", "":
			default:
				h.fail(rpc.Unimplemented, "messages are not compressed by "+f.Value[:min(len(f.Value), 32)]+", but by gzip")
			}
		case "grpc-accept-encoding":
			for name := range strings.SplitSeq(f.Value, ",") {
				if strings.TrimSpace(name) == grpc.Gzip {
					h.tag |= tagGzip
				}
			}
		}
	}
	md, e := grpc.ParseMetadata(h.md, fields, rpc.Transient, most)
	if h.md = md; e != nil {
		h.fail(e.Code, e.Msg)
	}
}

func (h *head) fail(code rpc.Code, msg string) {
	if h.err == nil {
		h.err = &rpc.Error{Code: code, Msg: msg}
	}
}

// with gives h with fields that only one request has, and metadata that is its own. Its
// content type may be among them: which fields are shared is as the peer's table has it.
func (h *head) with(fields []http2.Field, most int) head {
	x := *h
	x.md = slices.Clone(h.md)
	if len(fields) > 0 {
		x.take(fields, most)
	}
	if !isGRPC(x.kind) {
		x.status = 415
	}
	return x
}
