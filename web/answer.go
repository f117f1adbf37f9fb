package web

import (
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
)

// usual are the lists of the answers that came last and said nothing but that all is well.
type usual struct {
	head, tail *http2.Fields
	shape      shape // of Connect, what head says
}

// answerHead reads the head of an answer: the metadata that leads it, and why it is none of gRPC.
func (s *Session) answerHead(hev *http2.Event) (lead rpc.Metadata, bad *rpc.Error) {
	if hev.Fields == s.in.usual.head && len(hev.Rest) == 0 {
		return nil, nil
	}
	kind, packed := "", ""
	for _, list := range [][]http2.Field{hev.Fields.List, hev.Rest} {
		for _, f := range list {
			switch f.Name {
			case "content-type":
				kind = f.Value
			case "grpc-encoding":
				packed = f.Value
			}
		}
	}
	fail := func(code rpc.Code, why string) (rpc.Metadata, *rpc.Error) {
		return nil, &rpc.Error{Code: code, Op: "receive", Msg: why, Sent: rpc.Processed, Remote: true}
	}
	switch {
	case hev.Fields.Status != 200:
		return fail(grpc.OfHTTP(hev.Fields.Status), "the peer has answered with HTTP status "+strconv.Itoa(hev.Fields.Status))
	case !strings.HasPrefix(kind, contentType):
		return fail(rpc.Unknown, "the answer is none of gRPC: its content type is "+strconv.Quote(kind[:min(len(kind), 64)]))
	case packed != "" && packed != "identity" && packed != grpc.Gzip:
		return fail(rpc.Internal, "the answer is compressed by "+strconv.Quote(packed[:min(len(packed), 32)]))
	}
	if bare(hev) {
		return nil, nil // it is all trailers
	}
	for _, list := range [][]http2.Field{hev.Fields.List, hev.Rest} {
		if lead, bad = grpc.ParseMetadata(lead, list, rpc.Leading, 2*s.lim.HeaderEntries); bad != nil {
			return fail(bad.Code, bad.Msg)
		}
	}
	if lead == nil && len(hev.Rest) == 0 {
		s.in.usual.head = hev.Fields
	}
	return lead, nil
}

// bare reports an answer that is nothing but trailers.
func bare(hev *http2.Event) bool {
	return hev.Flags&(http2.Answer|http2.Data|http2.End) == http2.Answer|http2.End && hev.Trailer == nil
}

// answerEnd reads the end of an answer: all its metadata, and what it has failed with.
// bad is what its head says.
func (s *Session) answerEnd(hev *http2.Event, lead rpc.Metadata, bad *rpc.Error) (rpc.Metadata, *rpc.Error) {
	if hev.Trailer != nil && hev.Trailer == s.in.usual.tail && len(hev.Tail) == 0 && bad == nil {
		return lead, nil
	}
	lists := [][]http2.Field{nil, hev.Tail}
	switch {
	case hev.Trailer != nil:
		lists[0] = hev.Trailer.List
	case bare(hev):
		lists[0], lists[1] = hev.Fields.List, hev.Rest
	}
	e, found := grpc.ParseStatus(lists...)
	if !found {
		if e = bad; e == nil {
			e = &rpc.Error{Code: rpc.Internal, Op: "receive", Msg: "the answer ends without a status", Sent: rpc.Processed, Remote: true}
		}
		return lead, e
	}
	if e == nil {
		e = bad
	}
	had := len(lead)
	for _, list := range lists {
		var wrong *rpc.Error
		if lead, wrong = grpc.ParseMetadata(lead, list, rpc.Transient, 2*s.lim.HeaderEntries); wrong != nil && e == nil {
			e = &rpc.Error{Code: wrong.Code, Op: "receive", Msg: wrong.Msg, Sent: rpc.Processed, Remote: true}
		}
	}
	if e == nil && hev.Trailer != nil && len(hev.Tail) == 0 && len(lead) == had {
		s.in.usual.tail = hev.Trailer
	}
	return lead, e
}

// resetError is what a stream has failed with that has ended before its time.
func resetError(hev *http2.Event) *rpc.Error {
	e := &rpc.Error{Code: grpc.OfReset(hev.Code), Op: "receive", Msg: "the peer has ended the stream: " + hev.Code.String(), Sent: rpc.Maybe, Remote: true}
	switch {
	case hev.Err != nil && hev.Err.Limit:
		e.Code, e.Msg, e.Sent, e.Remote = rpc.ResourceExhausted, hev.Err.Why, rpc.Processed, false
	case hev.Err != nil:
		e.Code, e.Msg, e.Sent, e.Remote = rpc.Internal, hev.Err.Why, rpc.Processed, false
	case hev.Code == http2.RefusedStream:
		e.Sent = rpc.Refused
	}
	return e
}
