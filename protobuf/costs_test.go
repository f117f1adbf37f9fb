package protobuf_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

// costs runs f and fails if that allocates more than times what a text or message of n bytes may.
func costs(t *testing.T, what string, n, times int, f func() error) {
	t.Helper()
	lim := rpc.Limits{}.WithDefaults()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(times*lim.DecodeBudget(n))*5/4+64<<10; took > most {
		t.Errorf("%s: %d bytes took %d bytes of memory, at most %d are due (%v)", what, n, took, most, err)
	}
}

// TestNoFieldCostsMuch gives each field a third of its short values again and again, right and wrong: what
// they become is within the budget, by the plan and by generated code.
func TestNoFieldCostsMuch(t *testing.T) {
	const size = 32 << 10
	lim := rpc.Limits{}.WithDefaults()
	for _, p := range withMade() {
		if err := (protobuf.Codec{}).Decode(buf.View{}, p.ours(), lim); err != nil && p.name != "Old" && p.name != "made.Old" {
			t.Fatal(err) // what is found out about a type is not counted
		}
		for _, n := range numbersOf(p.their().ProtoReflect()) {
			for i, b := range wires(n) {
				if i%3 != int(n)%3 || len(b) > 6 || proto.Unmarshal(b, p.their()) != nil && !strings.HasSuffix(p.name, "Old") {
					continue
				}
				body := buf.ViewOf(bytes.Repeat(b, size/len(b)))
				costs(t, fmt.Sprintf("%s, %x", p.name, b), body.Len(), 1, func() error {
					return protobuf.Codec{}.Decode(body, p.ours(), lim)
				})
			}
		}
	}
}

// TestNoTextCostsMuch does so with texts: a list of what is short, and an object of many members.
// A list's length is not known before its end; what it grows out of is garbage by and by, which
// is counted here and not in the budget, that of what is held at once.
func TestNoTextCostsMuch(t *testing.T) {
	const size = 32 << 10
	for _, p := range jsonPairs() {
		if err := protobuf.UnmarshalJSON([]byte("{}"), p.ours()); err != nil && p.name != "Old" {
			t.Fatal(err)
		}
		fields := p.their().ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			for _, short := range []string{"0", `""`, "{}", "true", "[]", "[{}]", `{"a":{}}`, `{"1":{}}`, "null"} {
				var text string
				switch {
				case f.IsMap():
					var b strings.Builder
					for k := 0; b.Len() < size; k++ {
						fmt.Fprintf(&b, `"%d":%s,`, k, short)
					}
					text = "{" + strings.TrimSuffix(b.String(), ",") + "}"
				default:
					text = "[" + strings.TrimSuffix(strings.Repeat(short+",", size/(len(short)+1)), ",") + "]"
				}
				text = fmt.Sprintf(`{"%s":%s}`, f.JSONName(), text)
				costs(t, fmt.Sprintf("%s.%s, %s", p.name, f.JSONName(), short), len(text), 2, func() error {
					return protobuf.JSON{Discard: true, Any: anyOf}.Decode(buf.ViewOf([]byte(text)), p.ours(), nil)
				})
			}
		}
	}
}

// TestRequiredOracle takes required fields out of random messages, on every level: both run
// times say that they are missing, encoding and decoding, and which one it is.
func TestRequiredOracle(t *testing.T) {
	taken := map[string]int{}
	old := pairs()[1]
	for seed := range uint64(150) {
		r := prototest.NewFiller(seed)
		msg := old.ours()
		r.Message(msg)
		their := theirs(t, old, msg)
		var name string
		var all []func()
		required(their.ProtoReflect(), func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
			all = append(all, func() { m.Clear(f); name = string(m.Descriptor().Name()) + "." + string(f.Name()) })
		})
		all[r.IntN(len(all))]()
		b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(their)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, old, b) // both refuse
		err = protobuf.Unmarshal(b, old.ours())
		syntax, ok := errors.AsType[*protobuf.SyntaxError](err)
		if !ok || syntax.Why != "required field is missing" || !strings.HasSuffix(strings.ToLower(syntax.Path), strings.ToLower(name)) {
			t.Fatalf("%d: %v, %s is missing", seed, err, name)
		}
		taken[name]++
	}
	if len(taken) < 6 {
		t.Errorf("too few different fields were taken out: %v", taken)
	}
	for seed := range uint64(50) { // and values that lack one cannot be sent
		r := prototest.NewFiller(seed)
		msg := new(prototest.Old)
		r.Message(msg)
		at, name := msg, ""
		for at.Next != nil && r.IntN(2) == 0 {
			at = at.Next
		}
		f := []string{"ID", "Last"}[r.IntN(2)]
		reflect.ValueOf(at).Elem().FieldByName(f).SetZero()
		name = "Old." + f
		_, err := protobuf.Marshal(msg)
		if _, ok := errors.AsType[*protobuf.TypeError](err); !ok || !strings.Contains(err.Error(), name) {
			t.Fatalf("%d: %v, %s is nil", seed, err, name)
		}
	}
}

// required calls found for each required field that is set in a message, and below it.
func required(m protoreflect.Message, found func(protoreflect.Message, protoreflect.FieldDescriptor)) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Cardinality() == protoreflect.Required {
			found(m, f)
		}
		if f.IsMap() && f.MapValue().Message() == nil || f.Message() == nil {
			return true
		}
		eachMessage(f, v, func(within protoreflect.Message) { required(within, found) })
		return true
	})
}
