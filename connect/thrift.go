package connect

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// CodecOf gives the codec of a method's messages in an encoding, and nil if there is none.
// Methods of Thrift have JSON by this package.
func CodecOf(m *rpc.Method, e rpc.Encoding) rpc.Codec {
	if r, ok := m.Codec.(rpc.Recoder); ok {
		if c := r.In(e); c != nil {
			return c
		}
	}
	if e == rpc.JSON && wraps(m) {
		return wrapped{}
	}
	return nil
}

// wrapped is the JSON of a method of Thrift, whose messages have the arguments, and what is
// returned or thrown, as fields with the tag thrift. It is for a server: it reads arguments and
// writes results.
type wrapped struct{}

var _ rpc.Weigher = wrapped{}

// A member is a field of such a message.
type member struct {
	name  string
	value reflect.Value
	first bool // its id is 0: what is returned
}

// membersOf gives the fields of a message. An error: it is none.
func membersOf(msg any) (list []member, err error) {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, rpc.Errorf(rpc.Internal, "connect: %T is no message of a method of Thrift", msg)
	}
	for f, value := range v.Elem().Fields() {
		tag := f.Tag.Get("thrift")
		if tag == "" || !f.IsExported() {
			continue
		}
		name, id, _ := strings.Cut(tag, ",")
		id, _, _ = strings.Cut(id, ",")
		list = append(list, member{name, value, id == "0"})
	}
	return list, nil
}

// Decode implements [rpc.Codec].
func (c wrapped) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	_, err := c.DecodeWeighed(body, msg, lim)
	return err
}

// DecodeWeighed makes it an [rpc.Weigher]. Nothing at all is an object without members.
func (wrapped) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (bytes int, err error) {
	list, err := membersOf(msg)
	if err != nil {
		return 0, err
	}
	if lim == nil {
		lim = rpc.Limits{}.WithDefaults()
	}
	// A message may be used again: what the text does not name must not be that of the call before.
	reflect.ValueOf(msg).Elem().SetZero()
	if d, ok := msg.(interface{ SetDefaults() }); ok {
		d.SetDefaults()
	}
	text := body.Bytes()
	if len(text) == 0 {
		text = []byte("{}")
	}
	// The short form, which has no name around the one argument.
	if len(list) == 1 && !names(text, list[0]) {
		return stub.ReadJSON(list[0].value.Addr().Interface(), text, lim)
	}
	return readMembers(list, text, lim)
}

// names reports whether text is an object whose one member is the argument a, and not a itself.
func names(text []byte, a member) bool {
	s := json.Scanner{Text: text}
	if s.Want('{') != nil {
		return false
	}
	if more, bad := s.More(true, '}'); bad != nil || !more {
		return false
	}
	name, bad := s.Name()
	if bad != nil || string(name.Text) != a.name {
		return false
	}
	return !hasField(a.value.Type(), a.name)
}

// hasField reports whether values of a type are objects that have a member of a name.
func hasField(t reflect.Type, name string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return t.Kind() == reflect.Map || t.Kind() == reflect.Interface
	}
	for f := range t.Fields() {
		if own, _, _ := strings.Cut(f.Tag.Get("json"), ","); own == name {
			return true
		}
	}
	return false
}

// readMembers reads an object with the arguments by name. Members that are no argument are
// passed over. The type that it makes is one for each method, whatever the text has: package
// reflect never forgets a type, so a peer must have no part in one.
func readMembers(list []member, text []byte, lim *rpc.Limits) (bytes int, err error) {
	fields := make([]reflect.StructField, len(list))
	for i, m := range list {
		// A type of its own has the reader see the names of the IDL, and one budget for all.
		fields[i] = reflect.StructField{Name: "A" + strconv.Itoa(i), Type: m.value.Type(), Tag: reflect.StructTag(`json:"` + m.name + `"`)}
	}
	all := reflect.New(reflect.StructOf(fields))
	for i, m := range list {
		all.Elem().Field(i).Set(m.value) // its default
	}
	bytes, err = stub.ReadJSON(all.Interface(), text, lim)
	if err != nil {
		return 0, err
	}
	for i, m := range list {
		m.value.Set(all.Elem().Field(i))
	}
	return bytes, nil
}

// Append implements [rpc.Codec]. An exception is an error, which its caller is told.
func (wrapped) Append(out *buf.Out, msg any) error {
	list, err := membersOf(msg)
	if err != nil {
		return err
	}
	for _, m := range list {
		// An exception that is set is the outcome: a result beside it is not looked at.
		if !m.first && m.value.Kind() == reflect.Pointer && !m.value.IsNil() {
			return thrown(m)
		}
	}
	text := []byte("{}")
	for _, m := range list {
		if !m.first {
			continue
		}
		if text, err = stub.AppendJSON(nil, m.value.Interface()); err != nil {
			return rpc.Errorf(rpc.Internal, "connect: the answer has no form in JSON: %w", err)
		}
	}
	if len(text) >= buf.RefMin {
		out.Move(buf.ViewOf(text))
	} else {
		out.Append(text)
	}
	return nil
}

// thrown is the error of an exception.
func thrown(m member) error {
	// The name of the field is what is left to say where the exception has no text of its own.
	e := &rpc.Error{Code: rpc.Unknown, Msg: m.name}
	if err, ok := m.value.Interface().(error); ok {
		e.Msg = err.Error()
	}
	text, err := stub.AppendJSON(nil, m.value.Interface())
	if err == nil {
		e.Details = rpc.Metadata{{Key: m.value.Type().Elem().Name(), Value: string(text)}}
	}
	return e
}
