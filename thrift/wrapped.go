package thrift

import (
	"iter"
	"reflect"
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

var (
	_ rpc.Unwrapper = Binary{}
	_ rpc.Unwrapper = Compact{}
)

// Args makes Binary an [rpc.Unwrapper]: msg is a generated struct of a method's
// arguments, whose tags have their names.
func (Binary) Args(msg any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for tag, v := range tagged(msg) {
			name, _, _ := strings.Cut(tag, ",")
			if !yield(name, v.Interface()) {
				return
			}
		}
	}
}

// Answer makes Binary an [rpc.Unwrapper]: msg is the generated struct of a method's
// result. A scalar stands behind a pointer there, as what may be absent.
func (Binary) Answer(msg any) any {
	for tag, v := range tagged(msg) {
		if !strings.HasPrefix(tag, "success,0") { // the id of what is returned; exceptions have others
			continue
		}
		switch v.Kind() {
		case reflect.Slice, reflect.Map, reflect.Interface:
			if v.IsNil() {
				return nil
			}
		case reflect.Pointer:
			if v.IsNil() {
				return nil
			}
			if v.Type().Elem().Kind() != reflect.Struct {
				v = v.Elem()
			}
		}
		return v.Interface()
	}
	return nil
}

// Args makes Compact an [rpc.Unwrapper]: the structs are those of Binary.
func (Compact) Args(msg any) iter.Seq2[string, any] { return Binary{}.Args(msg) }

// Answer makes Compact an [rpc.Unwrapper]: the structs are those of Binary.
func (Compact) Answer(msg any) any { return Binary{}.Answer(msg) }

// tagged yields the fields that msg, a pointer to a struct, has on the wire, with
// their tags.
func tagged(msg any) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		s := reflect.ValueOf(msg)
		if s.Kind() != reflect.Pointer || s.IsNil() || s.Elem().Kind() != reflect.Struct {
			return
		}
		for i, f := range s.Elem().Fields() {
			if tag := i.Tag.Get("thrift"); tag != "" && i.IsExported() && !yield(tag, f) {
				return
			}
		}
	}
}
