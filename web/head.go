package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
)

// A head is what the header fields of a request say.
type head struct {
	form            form
	status          int    // not 0: it is none that is known, and answered so
	kind            string // content-type; "": not among the fields that were read
	service, method string
	stream          bool
	gzip            bool // what is compressed is so by gzip, else by nothing that is known
	tag             uint64
	timeout         time.Duration
	md              rpc.Metadata
	err             *rpc.Error       // why it cannot be served
	connect         *connect.Request // what Connect says instead of all this, and not done
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
	h := s.newHead(list, nil)
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

// gathers says of the head of a request that it is one message. What is refused is not gathered,
// but a GET, which is short: it is answered once it has ended, or broken a rule of HTTP/2.
func (s *Session) gathers(list *http2.Fields) bool {
	h := s.headOf(list)
	return h.status == 0 && !h.stream && (h.err == nil || h.form == formConnect && list.Method == "GET")
}

// newHead reads the head of a request: what is shared of it, and fields of its own behind that.
func (s *Session) newHead(list *http2.Fields, own []http2.Field) *head {
	h := &head{kind: kindOf(list.List, own)}
	switch h.form = formOf(list.Method, h.kind); {
	case h.form == formGRPC:
		h.take(list.List, s.lim.HeaderEntries)
		h.take(own, s.lim.HeaderEntries)
		h.readPath(list.Path, s.p.Find)
		return h
	case h.form == formConnect:
	case list.Method != "POST":
		h.status = 405
	case h.kind != "":
		h.status = 415
	}
	r := connect.Read(list.Method, list.Path, s.p.Find, s.lim)
	if h.stream = r.Streams(); h.form == formConnect {
		for _, fields := range [][]http2.Field{list.List, own} {
			for _, f := range fields {
				r.Take(f.Name, f.Value)
			}
		}
		h.connect = &r
	}
	h.err = r.Err
	return h
}

// readPath finds the method of a request of gRPC.
func (h *head) readPath(path string, find func(service, method string) *rpc.Method) {
	name, found := strings.CutPrefix(path, "/")
	i := strings.LastIndexByte(name, '/')
	if !found || i < 0 {
		h.err = &rpc.Error{Code: rpc.Unimplemented, Msg: fmt.Sprintf("%q is no path of a method", clipped(path))}
		return
	}
	h.service, h.method = name[:i], name[i+1:]
	h.find(find)
}

// clipped bounds what of a path comes back: a peer's table may make one byte of it.
func clipped(path string) string { return path[:min(len(path), 100)] }

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

// with gives h, of a request of gRPC, with fields that only one request has, and metadata
// that is its own.
func (h *head) with(fields []http2.Field, most int) head {
	x := *h
	x.md = slices.Clone(h.md)
	if len(fields) > 0 {
		if x.take(fields, most); !isGRPC(x.kind) {
			x.status = 415
		}
	}
	return x
}
