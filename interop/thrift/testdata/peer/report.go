package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"

	"github.com/limosa-rpc/limosa/thrift"
)

// allMethods is the number of methods in service ThriftTest.
const allMethods = 23

// A report collects what a client has seen.
type report struct {
	ctx      context.Context
	methods  []string // those called so far
	calls    int
	failures int
}

// finish prints the sum and tells whether all was well.
func (r *report) finish() error {
	if r.failures > 0 {
		return fmt.Errorf("%d answers of %d calls are wrong", r.failures, r.calls)
	}
	methods := slices.DeleteFunc(slices.Clone(r.methods), func(m string) bool { return m == "secondtestString" })
	if len(methods) != allMethods {
		return fmt.Errorf("called %d methods of %d", len(methods), allMethods)
	}
	fmt.Printf("%d methods, %d calls: all answers as expected\n", len(methods), r.calls)
	return nil
}

func (r *report) called(method string) {
	r.calls++
	if !slices.Contains(r.methods, method) {
		r.methods = append(r.methods, method)
	}
}

func (r *report) fail(method, format string, args ...any) {
	r.failures++
	text := fmt.Sprintf(format, args...)
	if len(text) > 2000 {
		text = text[:2000] + "…"
	}
	fmt.Fprintf(os.Stderr, "%s %s\n", method, text)
}

// nothing checks a call without a result.
func (r *report) nothing(method string, err error) {
	r.called(method)
	if err != nil {
		r.fail(method, "failed: %v", err)
	}
}

// same checks a call's result.
func (r *report) same(method string, got any, err error, want any) {
	r.called(method)
	switch {
	case err != nil:
		r.fail(method, "failed: %v", err)
	case !equal(reflect.ValueOf(got), reflect.ValueOf(want)):
		r.fail(method, "answered %#v, want %#v", got, want)
	}
}

// echo calls a method that gives back its argument, once with each value.
func echo[T any](r *report, method string, call func(context.Context, T) (T, error), values ...T) {
	for _, v := range values {
		got, err := call(r.ctx, v)
		r.same(method, got, err, v)
	}
}

// raised checks that a call ended with the declared exception want.
func raised[E error](r *report, method string, err error, want E) {
	r.called(method)
	if got, ok := errors.AsType[E](err); !ok || !reflect.DeepEqual(got, want) {
		r.fail(method, "ended with %T %v, want %v", err, err, want)
	}
}

// equal is reflect.DeepEqual but for three freedoms that Thrift gives: a set
// has no order, an empty container may as well be nil, and NaN equals itself.
func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	if set, ok := a.Interface().(thrift.Set[int32]); ok {
		return slices.Equal(slices.Sorted(slices.Values(set)), slices.Sorted(slices.Values(b.Interface().(thrift.Set[int32]))))
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.MapRange(); it.Next(); {
			if !equal(it.Value(), b.MapIndex(it.Key())) {
				return false
			}
		}
		return true
	case reflect.Float64:
		return a.Float() == b.Float() || math.IsNaN(a.Float()) && math.IsNaN(b.Float())
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
