package connect

import (
	"encoding/base64"
	"strings"

	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/rpc"
)

// codes has the name of each code and the status of HTTP that goes with it:
// https://connectrpc.com/docs/protocol#error-codes.
var codes = [rpc.Codes]struct {
	name   string
	status int
}{
	rpc.OK:                 {"unknown", 500}, // no error has it
	rpc.Canceled:           {"canceled", 499},
	rpc.Unknown:            {"unknown", 500},
	rpc.InvalidArgument:    {"invalid_argument", 400},
	rpc.DeadlineExceeded:   {"deadline_exceeded", 504},
	rpc.NotFound:           {"not_found", 404},
	rpc.AlreadyExists:      {"already_exists", 409},
	rpc.PermissionDenied:   {"permission_denied", 403},
	rpc.ResourceExhausted:  {"resource_exhausted", 429},
	rpc.FailedPrecondition: {"failed_precondition", 400},
	rpc.Aborted:            {"aborted", 409},
	rpc.OutOfRange:         {"out_of_range", 400},
	rpc.Unimplemented:      {"unimplemented", 501},
	rpc.Internal:           {"internal", 500},
	rpc.Unavailable:        {"unavailable", 503},
	rpc.DataLoss:           {"data_loss", 500},
	rpc.Unauthenticated:    {"unauthenticated", 401},
}

// place is the code's index in codes.
func place(c rpc.Code) rpc.Code {
	if int(c) >= rpc.Codes {
		return rpc.Unknown
	}
	return c
}

// StatusOf is the status of HTTP for a code.
func StatusOf(c rpc.Code) int { return codes[place(c)].status }

// detailPrefix is that of the types of details whose keys name none, as package grpc has it.
const detailPrefix = "limosa.detail/"

// AppendError appends the text of an error. A detail whose key has a dot is a message of
// that type; others have a type that only our own kind reads.
func AppendError(b []byte, e *rpc.Error) []byte {
	b = append(append(b, `{"code":"`...), codes[place(e.Code)].name...)
	b = append(b, '"')
	if e.Msg != "" {
		b = json.AppendString(append(b, `,"message":`...), e.Msg)
	}
	for i, d := range e.Details {
		sep := ","
		if i == 0 {
			sep = `,"details":[`
		}
		kind := d.Key
		if !strings.Contains(kind, ".") {
			kind = detailPrefix + kind
		}
		b = json.AppendString(append(append(b, sep...), `{"type":`...), kind)
		b = append(b, `,"value":"`...)
		b = base64.RawStdEncoding.AppendEncode(b, []byte(d.Value))
		b = append(b, `"}`...)
	}
	if len(e.Details) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
