package plan_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A required list with elements of another type is missing, the 70th as the second: it is
// passed over in a struct of any number of required fields.
func TestRequiredOfAnotherTypeIsMissing(t *testing.T) {
	for _, n := range []int{2, 70} {
		fields := make([]reflect.StructField, n)
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[bool](), Tag: reflect.StructTag(fmt.Sprintf(`thrift:"f%d,%d,required"`, i, i+1))}
		}
		fields[n-1].Type = reflect.TypeFor[[]int32]()
		wide := reflect.StructOf(fields)
		fields[n-1].Type = reflect.TypeFor[[]string]()
		other := reflect.New(reflect.StructOf(fields))
		other.Elem().Field(n - 1).Set(reflect.ValueOf([]string{"a"}))
		right := reflect.New(wide)
		right.Elem().Field(n - 1).Set(reflect.ValueOf([]int32{1}))
		for name, codec := range map[string]rpc.Codec{"Binary": thrift.Binary{}, "Compact": thrift.Compact{}} {
			decode := func(msg any, also []byte) error {
				var out buf.Out
				defer out.Reset()
				if err := codec.Append(&out, msg); err != nil {
					t.Fatal(err)
				}
				b := append(out.Bytes()[:out.Len()-1:out.Len()-1], also...)
				return codec.Decode(buf.ViewOf(append(b, 0)), reflect.New(wide).Interface(), nil)
			}
			if err := decode(right.Interface(), nil); err != nil {
				t.Errorf("%s of %d fields: %v", name, n, err)
			}
			if err := decode(other.Interface(), nil); err == nil || !strings.Contains(err.Error(), "required field is missing") {
				t.Errorf("%s of %d fields, another type: %v", name, n, err)
			}
			if name == "Compact" {
				continue
			}
			// It is there if it comes with the right type as well.
			if err := decode(other.Interface(), []byte{15, 0, byte(n), 8, 0, 0, 0, 1, 0, 0, 0, 1}); err != nil {
				t.Errorf("%d fields, both types: %v", n, err)
			}
		}
	}
}
