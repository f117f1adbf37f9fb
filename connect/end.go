package connect

import (
	"encoding/base64"
	"strings"

	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/rpc"
)

// EndFlag marks the envelope that is the last one of a stream's answer, and no message.
const EndFlag = 1 << 1

// AppendEnd appends the text of a stream's last envelope: what the call has failed with, nil if
// it has not, and those of its metadata that did not lead the answer.
func AppendEnd(b []byte, e *rpc.Error, md rpc.Metadata) []byte {
	b = append(b, '{')
	if e != nil {
		b = AppendError(append(b, `"error":`...), e)
	}
	first := true
	for i, p := range md {
		if !trails(p) || before(md[:i], p.Key) {
			continue
		}
		switch {
		case !first:
			b = append(b, ',')
		case e != nil:
			b = append(b, `,"metadata":{`...)
		default:
			b = append(b, `"metadata":{`...)
		}
		first = false
		b = append(json.AppendString(b, strings.ToLower(p.Key)), `:[`...)
		b = appendValues(b, md[i:], p.Key)
		b = append(b, ']')
	}
	if !first {
		b = append(b, '}')
	}
	return append(b, '}')
}

// trails reports a pair that goes behind the answer.
func trails(p rpc.Pair) bool {
	return p.Scope != rpc.Leading && !own(strings.ToLower(p.Key)) && !rpc.Reserved(p.Key)
}

// before reports whether md has a pair with a key that goes behind the answer.
func before(md rpc.Metadata, key string) bool {
	for _, p := range md {
		if strings.EqualFold(p.Key, key) && trails(p) {
			return true
		}
	}
	return false
}

// appendValues appends the values of a key that go behind the answer, as strings with commas.
func appendValues(b []byte, md rpc.Metadata, key string) []byte {
	first := true
	for _, p := range md {
		if !strings.EqualFold(p.Key, key) || !trails(p) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if strings.HasSuffix(strings.ToLower(key), "-bin") {
			b = append(b, '"')
			b = base64.RawStdEncoding.AppendEncode(b, []byte(p.Value))
			b = append(b, '"')
		} else {
			b = json.AppendString(b, p.Value)
		}
	}
	return b
}

// A reader reads what servers say about calls. Of members that it does not know it only
// sees that they are JSON.
type reader struct {
	json.Scanner

	lim *rpc.Limits
}

// ReadError reads the text of an error. One whose code is none that this package knows has
// the code OK, for the status of HTTP to say more. ok is false for what is no object with
// members of these kinds, or has more details than metadata may have entries.
func ReadError(text []byte, lim *rpc.Limits) (e *rpc.Error, ok bool) {
	r := reader{json.Scanner{Text: text}, lim}
	e = r.error()
	return e, e != nil && r.over()
}

// ReadEnd reads the text of a stream's last envelope. ok is as in [ReadError]; the code of
// e is not OK.
func ReadEnd(text []byte, lim *rpc.Limits) (md rpc.Metadata, e *rpc.Error, ok bool) {
	r := reader{json.Scanner{Text: text}, lim}
	ok = r.members(func(name string) bool {
		switch {
		case name == "error" && r.Peek() != 'n':
			e = r.error()
			return e != nil
		case name == "metadata" && r.Peek() != 'n':
			return r.metadata(&md)
		}
		return r.skip(0)
	}) && r.over()
	if !ok {
		return nil, nil, false
	}
	if e != nil && e.Code == rpc.OK {
		e.Code = rpc.Unknown
	}
	return md, e, true
}

// over reports whether nothing follows.
func (r *reader) over() bool {
	r.Peek()
	return r.At == len(r.Text)
}

// members reads an object, whose values f reads. false: it is none.
func (r *reader) members(f func(name string) bool) bool {
	if r.Want('{') != nil {
		return false
	}
	for first := true; ; first = false {
		more, bad := r.More(first, '}')
		if bad != nil || !more {
			return bad == nil
		}
		name, bad := r.Name()
		if bad != nil || !f(string(name.Text)) {
			return false
		}
	}
}

// elements reads an array, whose elements f reads.
func (r *reader) elements(f func() bool) bool {
	if r.Want('[') != nil {
		return false
	}
	for first := true; ; first = false {
		more, bad := r.More(first, ']')
		if bad != nil || !more {
			return bad == nil
		}
		if !f() {
			return false
		}
	}
}

// text reads a string.
func (r *reader) text(to *string) bool {
	t, bad := r.Value()
	*to = string(t.Text)
	return bad == nil && t.Kind == '"'
}

// skipDepth is how deep what is not known may be nested.
const skipDepth = 64

// skip reads any value.
func (r *reader) skip(depth int) bool {
	switch c := r.Peek(); {
	case depth == skipDepth:
		return false
	case c == '{':
		return r.members(func(string) bool { return r.skip(depth + 1) })
	case c == '[':
		return r.elements(func() bool { return r.skip(depth + 1) })
	}
	_, bad := r.Value()
	return bad == nil
}

// error reads an error; nil: there is none.
func (r *reader) error() *rpc.Error {
	e := &rpc.Error{Sent: rpc.Processed, Remote: true}
	ok := r.members(func(name string) bool {
		switch name {
		case "code":
			var code string
			ok := r.text(&code)
			e.Code = codeOf(code)
			return ok
		case "message":
			return r.text(&e.Msg)
		case "details":
			return r.elements(func() bool { return r.detail(e) })
		}
		return r.skip(0)
	})
	if !ok {
		return nil
	}
	return e
}

// codeOf is the code with a name; OK: there is none.
func codeOf(name string) rpc.Code {
	for c := rpc.OK + 1; int(c) < len(codes); c++ {
		if codes[c].name == name {
			return c
		}
	}
	return rpc.OK
}

// detail reads a detail of e. One whose value is not base64 is left out.
func (r *reader) detail(e *rpc.Error) bool {
	var kind, value string
	ok := r.members(func(name string) bool {
		switch name {
		case "type":
			return r.text(&kind)
		case "value":
			return r.text(&value)
		}
		return r.skip(0)
	})
	if !ok || len(e.Details) == r.lim.HeaderEntries {
		return false
	}
	p, good := decodeAnyBase64(value)
	if kind = kind[strings.LastIndexByte(kind, '/')+1:]; good && kind != "" {
		e.Details = append(e.Details, rpc.Pair{Key: kind, Value: string(p)})
	}
	return true
}

// metadata reads an object of arrays of strings.
func (r *reader) metadata(md *rpc.Metadata) bool {
	return r.members(func(name string) bool {
		name = strings.ToLower(name)
		return r.elements(func() bool {
			var value string
			if !r.text(&value) || len(*md) == 2*r.lim.HeaderEntries {
				return false
			}
			var code rpc.Code
			*md, code = parsePair(*md, name, value, rpc.Transient, 2*r.lim.HeaderEntries)
			return code == rpc.OK
		})
	})
}
