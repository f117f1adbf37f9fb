package known

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limosa-rpc/limosa/protobuf"
)

// TestTypesAreTheOfficialOnes: each well-known type is the same message to the official
// run time, in both directions, and has the same text in JSON.
func TestTypesAreTheOfficialOnes(t *testing.T) {
	value, err := ValueOf(map[string]any{"a": []any{1, nil, true, "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ours  Message
		back  Message
		their proto.Message
		json  string
	}{
		{&Timestamp{Seconds: 1_700_000_000, Nanos: 5_000_000}, &Timestamp{}, &timestamppb.Timestamp{}, `"2023-11-14T22:13:20.005Z"`},
		{&Timestamp{Seconds: minSeconds}, &Timestamp{}, &timestamppb.Timestamp{}, `"0001-01-01T00:00:00Z"`},
		{&Duration{Seconds: -3, Nanos: -500_000_000}, &Duration{}, &durationpb.Duration{}, `"-3.500s"`},
		{&Duration{}, &Duration{}, &durationpb.Duration{}, `"0s"`},
		{&FieldMask{Paths: []string{"user.display_name", "id"}}, &FieldMask{}, &fieldmaskpb.FieldMask{}, `"user.displayName,id"`},
		{value, &Value{}, &structpb.Value{}, `{"a":[1,null,true,"x"]}`},
		{&ListValue{}, &ListValue{}, &structpb.ListValue{}, `[]`},
		{&Struct{}, &Struct{}, &structpb.Struct{}, `{}`},
		{&Empty{}, &Empty{}, &emptypb.Empty{}, `{}`},
		{&Any{}, &Any{}, &anypb.Any{}, `{}`},
		{&Int64Value{Value: -1 << 63}, &Int64Value{}, &wrapperspb.Int64Value{}, `"-9223372036854775808"`},
		{&UInt32Value{Value: 1<<32 - 1}, &UInt32Value{}, &wrapperspb.UInt32Value{}, `4294967295`},
		{&DoubleValue{Value: 1.5}, &DoubleValue{}, &wrapperspb.DoubleValue{}, `1.5`},
		{&BoolValue{Value: true}, &BoolValue{}, &wrapperspb.BoolValue{}, `true`},
		{&StringValue{Value: "é"}, &StringValue{}, &wrapperspb.StringValue{}, `"é"`},
		{&BytesValue{Value: []byte{0, 255}}, &BytesValue{}, &wrapperspb.BytesValue{}, `"AP8="`},
	} {
		name := tt.ours.ProtoName()
		if name != string(tt.their.ProtoReflect().Descriptor().FullName()) {
			t.Errorf("%s is called %s", tt.their.ProtoReflect().Descriptor().FullName(), name)
		}
		wire, err := protobuf.Marshal(tt.ours)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := proto.Unmarshal(wire, tt.their); err != nil {
			t.Errorf("%s: the official run time: %v of %x", name, err, wire)
			continue
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(tt.their)
		if err != nil || !bytes.Equal(again, wire) {
			t.Errorf("%s: %x became %x, %v", name, wire, again, err)
		}
		if err := protobuf.Unmarshal(again, tt.back); err != nil || !protobuf.Equal(tt.ours, tt.back) {
			t.Errorf("%s: %v came back as %v, %v", name, tt.ours, tt.back, err)
		}
		text, err := protobuf.MarshalJSON(tt.ours)
		if err != nil || string(text) != tt.json {
			t.Errorf("%s: in JSON %s, %v; want %s", name, text, err, tt.json)
		}
		if err := protojson.Unmarshal(text, tt.their); err != nil {
			t.Errorf("%s: the official run time: %v of %s", name, err, text)
		}
	}
}

// TestAnyIsTheOfficialOne: what AnyOf packs the official run time unpacks, by its name.
func TestAnyIsTheOfficialOne(t *testing.T) {
	x, err := AnyOf(&Duration{Seconds: 5})
	if err != nil {
		t.Fatal(err)
	}
	wire, err := protobuf.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var their anypb.Any
	if err := proto.Unmarshal(wire, &their); err != nil {
		t.Fatal(err)
	}
	m, err := their.UnmarshalNew()
	if d, ok := m.(*durationpb.Duration); err != nil || !ok || d.Seconds != 5 {
		t.Errorf("%v, %v", m, err)
	}
}
