package known

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Times and durations are what the official run time makes of them.
func TestTime(t *testing.T) {
	for _, s := range []int64{0, 1, -1, minSeconds, minSeconds - 1, maxSeconds, maxSeconds + 1, math.MaxInt64, math.MinInt64} {
		for _, n := range []int32{0, 1, 999_999_999, 1_000_000_000, -1, math.MaxInt32, math.MinInt32} {
			x, want := &Timestamp{Seconds: s, Nanos: n}, &timestamppb.Timestamp{Seconds: s, Nanos: n}
			if got := x.AsTime(); !got.Equal(want.AsTime()) || (x.Check() == nil) != want.IsValid() {
				t.Errorf("%d, %d: %v, %v; want %v, %v", s, n, got, x.Check(), want.AsTime(), want.CheckValid())
			}
		}
	}
	at := time.Date(2026, 11, 22, 1, 2, 3, 4, time.FixedZone("x", 3600))
	if got := TimestampOf(at); !got.AsTime().Equal(at) || got.AsTime().Location() != time.UTC {
		t.Errorf("%v", got)
	}
	var none *Timestamp
	if none.AsTime().Unix() != 0 || none.Check() == nil {
		t.Error("nil")
	}
}

func TestDuration(t *testing.T) {
	for _, s := range []int64{0, 1, -1, maxWholeSeconds, maxWholeSeconds + 1, -maxWholeSeconds, -maxWholeSeconds - 1, maxSpan, maxSpan + 1, -maxSpan, -maxSpan - 1, math.MaxInt64, math.MinInt64} {
		for _, n := range []int32{0, 1, 999_999_999, 1_000_000_000, -1, -999_999_999, -1_000_000_000, math.MaxInt32, math.MinInt32} {
			x, want := &Duration{Seconds: s, Nanos: n}, &durationpb.Duration{Seconds: s, Nanos: n}
			if got := x.AsDuration(); got != want.AsDuration() || (x.Check() == nil) != want.IsValid() {
				t.Errorf("%d, %d: %v, %v; want %v, %v", s, n, got, x.Check(), want.AsDuration(), want.CheckValid())
			}
		}
	}
	for _, d := range []time.Duration{0, 1, -1, math.MaxInt64, math.MinInt64, 1500 * time.Millisecond} {
		if x := DurationOf(d); x.AsDuration() != d || x.Check() != nil {
			t.Errorf("%v: %v", d, x)
		}
	}
	var none *Duration
	if none.AsDuration() != 0 || none.Check() == nil {
		t.Error("nil")
	}
}

// An Any holds any generated message, and gives it to one of its type only.
func TestAny(t *testing.T) {
	x, err := AnyOf(&Duration{Seconds: 5})
	if err != nil || x.TypeURL != "type.googleapis.com/google.protobuf.Duration" || !x.Is(&Duration{}) || x.Is(&Timestamp{}) {
		t.Fatalf("%v, %v", x, err)
	}
	var d Duration
	if err := x.To(&d); err != nil || d.Seconds != 5 {
		t.Errorf("%v, %v", &d, err)
	}
	if err := x.To(&Timestamp{}); err == nil || !strings.Contains(err.Error(), "is no google.protobuf.Timestamp") {
		t.Errorf("%v", err)
	}
	x.Value = []byte{0xff}
	if x.To(&d) == nil {
		t.Error("broken bytes are taken")
	}
	var none *Any
	if none.Is(&d) || none.To(&d) == nil {
		t.Error("nil")
	}
	if _, err := AnyOf(&StringValue{Value: "\xff"}); err == nil {
		t.Error("text that is not UTF-8 is encoded")
	}
}

// Values go to and fro as the official run time's do.
func TestValues(t *testing.T) {
	in := map[string]any{
		"nil": nil, "bool": true, "int": 5, "i8": int8(-5), "i16": int16(5), "i32": int32(5), "i64": int64(5), "u": uint(5), "u8": uint8(5), "u16": uint16(5), "u32": uint32(5), "u64": uint64(5),
		"f32": float32(1.5), "f64": 2.5, "text": "é", "bytes": []byte("hi"), "list": []any{1, []any{}, map[string]any{}}, "map": map[string]any{"a": map[string]any{"b": "c"}},
	}
	x, err := StructOf(in)
	if err != nil {
		t.Fatal(err)
	}
	want, err := structpb.NewStruct(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := x.AsMap(); !reflect.DeepEqual(got, want.AsMap()) {
		t.Errorf("%v\nwant %v", got, want.AsMap())
	}
	deep := any(nil)
	for range maxNested + 1 {
		deep = []any{deep}
	}
	for _, bad := range []any{"\xff", map[string]any{"\xff": 1}, struct{}{}, []any{make(chan int)}, map[string]any{"a": 5i}, deep} {
		if v, err := ValueOf(bad); err == nil {
			t.Errorf("%T is taken: %v", bad, v)
		}
	}
	var none *Value
	if none.AsAny() != nil || len((*Struct)(nil).AsMap()) != 0 || len((*ListValue)(nil).AsSlice()) != 0 || (&Value{Kind: &ValueKindNullValue{}}).AsAny() != nil {
		t.Error("nil")
	}
}
