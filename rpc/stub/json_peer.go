package stub

import (
	"errors"
	"reflect"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/rpc"
)

// ReadJSON is [UnmarshalJSON] for text that a peer has written, into any value that v points
// to. Structs that it makes have their defaults (SetDefaults). It nests no deeper, and takes no more memory besides its strings, than lim lets a
// message of its size; bytes says how much that was. What is beyond that
// is rpc.ResourceExhausted.
func ReadJSON(v any, text []byte, lim *rpc.Limits) (bytes int, err error) {
	budget := codec.Budget(lim.DecodeBudget(len(text)))
	to := reflect.ValueOf(v).Elem()
	r := newJSONReader(to, text, budget)
	r.presets = true
	switch err := r.whole(to, lim.Depth); {
	case r.budget < 0:
		return 0, rpc.Errorf(rpc.ResourceExhausted, "json: the text becomes more than %d bytes", budget)
	case err != nil:
		return 0, err
	}
	return int(budget - r.budget), nil
}

// errBudget ends the reading; what is said is ReadJSON's.
var errBudget = errors.New("json: the text becomes too large")

// charge takes the memory of a value out of the budget.
func (r *jsonReader) charge(t reflect.Type) error {
	if !r.budget.Charge(int(t.Size())) {
		return errBudget
	}
	return nil
}

// preset gives a struct that was made its defaults. They cost nothing in the text, so they
// are charged.
func (r *jsonReader) preset(v reflect.Value) error {
	d, ok := v.Interface().(interface{ SetDefaults() })
	if !ok || !r.presets {
		return nil
	}
	d.SetDefaults()
	for _, f := range v.Elem().Fields() {
		n := 0
		switch f.Kind() {
		case reflect.String:
			continue // the program's own text
		case reflect.Pointer:
			if !f.IsNil() {
				n = int(f.Type().Elem().Size())
			}
		case reflect.Slice:
			n = f.Len() * int(f.Type().Elem().Size())
		case reflect.Map:
			n = f.Len() * 2 * int(f.Type().Elem().Size()+f.Type().Key().Size())
		}
		if n > 0 && !r.budget.Charge(n) {
			return errBudget
		}
	}
	return nil
}
