package mux_test

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// The largest number in any field of the limits, or in all, is as good as none.
func TestLimitsThatAreNone(t *testing.T) {
	v := reflect.TypeFor[rpc.Limits]()
	for i := range v.NumField() + 1 {
		if i < v.NumField() && v.Field(i).Type.Kind() != reflect.Int {
			continue // a time, which none of these calls takes
		}
		name := "all"
		var lim rpc.Limits
		fields := reflect.ValueOf(&lim).Elem()
		for k := range fields.NumField() {
			if f := fields.Field(k); (i == k || i == v.NumField()) && f.Kind() == reflect.Int {
				f.SetInt(math.MaxInt)
				if i == k {
					name = v.Field(k).Name
				}
			}
		}
		synctest.Test(t, func(t *testing.T) {
			r := newRigOver(t, ttheader.Protocol{}, lim, plainRoute(handlers{
				"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			}), mux.Spare)
			for _, n := range []int{10, 10, 512 << 10, 1 << 20} { // the second large one is expected
				ctx, cancel := context.WithTimeout(t.Context(), 1e9)
				got, _, err := r.call(ctx, "echo", strings.Repeat("x", n))
				if cancel(); err != nil || len(got) != n {
					t.Errorf("%s: %d bytes for %d, %v", name, len(got), n, err)
					return
				}
			}
		})
	}
}
