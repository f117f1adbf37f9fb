package grpc

import (
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// The names of what trailers hold besides metadata.
const (
	statusKey  = "grpc-status"
	messageKey = "grpc-message"
	detailsKey = "grpc-status-details-bin"
)

// A detail of an error is an Any whose type is the detail's key, if that is the name of
// a type: one with a dot. Others have a type of ours, which only our own kind reads.
const (
	anyPrefix    = "type.googleapis.com/"
	detailPrefix = "limosa.detail/"
)

// Fields of google.rpc.Status and google.protobuf.Any.
const (
	statusCode = iota + 1
	statusMessage
	statusDetails

	anyURL   = 1
	anyValue = 2
)

// AppendStatus appends what the trailers of a call that has failed with e hold besides its
// code: the text, and the details.
func AppendStatus(fields []http2.Field, e *rpc.Error) []http2.Field {
	if e.Msg != "" {
		fields = append(fields, http2.Field{Name: messageKey, Value: EscapeMessage(e.Msg)})
	}
	if len(e.Details) > 0 {
		fields = append(fields, http2.Field{Name: detailsKey, Value: encodeBinary(string(appendDetails(nil, e)))})
	}
	return fields
}

// appendDetails appends a google.rpc.Status.
func appendDetails(b []byte, e *rpc.Error) []byte {
	b = append(b, byte(raw.Tag(statusCode, raw.Varint)))
	b = raw.Append(b, uint64(e.Code))
	b = appendText(b, statusMessage, e.Msg)
	for _, d := range e.Details {
		prefix := detailPrefix
		if strings.Contains(d.Key, ".") {
			prefix = anyPrefix
		}
		var detail []byte
		detail = appendText(detail, anyURL, prefix+d.Key)
		detail = appendText(detail, anyValue, d.Value)
		b = appendText(b, statusDetails, string(detail))
	}
	return b
}

func appendText(b []byte, number int, s string) []byte {
	b = append(b, byte(raw.Tag(number, raw.Bytes)))
	b = raw.Append(b, uint64(len(s)))
	return append(b, s...)
}

// ParseStatus reads the status of a call off trailers, and off what stands in front of
// them: the head of an answer without a body. found is false if there is none. e is
// nil for OK.
func ParseStatus(lists ...[]http2.Field) (e *rpc.Error, found bool) {
	var status, message, details string
	for _, fields := range lists {
		for _, f := range fields {
			switch f.Name {
			case statusKey:
				status, found = f.Value, true
			case messageKey:
				message = f.Value
			case detailsKey:
				details = f.Value
			}
		}
	}
	if !found || status == "0" {
		return nil, found
	}
	e = &rpc.Error{Code: rpc.Unknown, Msg: UnescapeMessage(message), Sent: rpc.Processed, Remote: true}
	n, err := strconv.ParseUint(status, 10, 32)
	switch {
	case err != nil:
		e.Msg = "the peer's status is " + strconv.Quote(status[:min(len(status), 32)])
	case n == 0:
		return nil, true
	case n < uint64(rpc.Codes):
		e.Code = rpc.Code(n)
	}
	if details != "" {
		if p, ok := decodeBinary(details); ok {
			e.Details = parseDetails([]byte(p))
		}
	}
	return e, true
}

// parseDetails gives the details of a google.rpc.Status, as far as it makes sense.
func parseDetails(b []byte) (details rpc.Metadata) {
	eachField(b, func(number int, value []byte) {
		if number != statusDetails {
			return
		}
		var d rpc.Pair
		eachField(value, func(number int, value []byte) {
			switch number {
			case anyURL:
				d.Key = string(value)
			case anyValue:
				d.Value = string(value)
			}
		})
		if i := strings.LastIndexByte(d.Key, '/'); i >= 0 {
			d.Key = d.Key[i+1:]
		}
		if d.Key != "" {
			details = append(details, d)
		}
	})
	return details
}

// eachField calls f with the fields of a message that hold bytes, until something makes
// no sense.
func eachField(b []byte, f func(number int, value []byte)) {
	for o := 0; o < len(b); {
		tag, end, fault := raw.ReadTag(b, o)
		if fault != 0 {
			return
		}
		if raw.Wire(tag&7) != raw.Bytes {
			if o, fault = raw.Skip(b, end, tag, 1); fault != 0 {
				return
			}
			continue
		}
		n, at, fault := raw.Length(b, end)
		if fault != 0 {
			return
		}
		f(int(tag>>3), b[at:at+n])
		o = at + n
	}
}

// OfHTTP is the code of an answer without a status whose HTTP status is another than 200:
// https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md.
func OfHTTP(status int) rpc.Code {
	switch status {
	case 400:
		return rpc.Internal
	case 401:
		return rpc.Unauthenticated
	case 403:
		return rpc.PermissionDenied
	case 404:
		return rpc.Unimplemented
	case 429, 502, 503, 504:
		return rpc.Unavailable
	}
	return rpc.Unknown
}

// OfReset is the code of a stream that the peer has ended.
func OfReset(c http2.Code) rpc.Code {
	switch c {
	case http2.RefusedStream:
		return rpc.Unavailable
	case http2.Cancel:
		return rpc.Canceled
	case http2.EnhanceYourCalm:
		return rpc.ResourceExhausted
	case http2.InadequateSecurity:
		return rpc.PermissionDenied
	}
	return rpc.Internal
}
