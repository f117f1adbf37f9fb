package gen_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/gen/testdata/goldenproto/editions/e2023"
	"github.com/limosa-rpc/limosa/gen/testdata/goldenproto/editions/e2024"
	"github.com/limosa-rpc/limosa/gen/testdata/goldenproto/google/api"
	errdetails "github.com/limosa-rpc/limosa/gen/testdata/goldenproto/google/rpc"
	money "github.com/limosa-rpc/limosa/gen/testdata/goldenproto/google/type_"
	"github.com/limosa-rpc/limosa/gen/testdata/goldenproto/legacy"
	shopv1 "github.com/limosa-rpc/limosa/gen/testdata/goldenproto/shop/v1"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/protobuf/known"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate sh -c "cd ../cmd && go run ./limosa-gen -q -out ../gen/testdata/goldenproto ../gen/testdata/proto"

// named is a message that was generated.
type named interface{ ProtoName() string }

// messages are some of all kinds; what they are made of is tested with them.
func messages() []named {
	return []named{
		new(shopv1.Order), new(shopv1.Numbers), new(shopv1.ListOrdersRequest), new(shopv1.OrderItem),
		new(legacy.Defaults), new(legacy.Groups), new(legacy.Extended), new(legacy.Scope),
		new(e2023.Mixed), new(e2024.Visible), new(errdetails.BadRequest), new(errdetails.RetryInfo), new(errdetails.Status),
		new(money.Money), new(api.HttpRule), new(known.Struct), new(known.Any), new(known.Type),
	}
}

// descriptors reads what the generated code carries with it.
func descriptors(t testing.TB) *protoregistry.Files {
	t.Helper()
	idl := shopv1.OrdersService(shopv1.UnimplementedOrders{}).IDL +
		legacy.LegacyIDL() + e2023.E2023IDL() + e2024.E2024IDL() + errdetails.ErrorDetailsIDL() + api.HTTPIDL() + known.TypeIDL() + known.SourceContextIDL()
	set, once := new(descriptorpb.FileDescriptorSet), new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal([]byte(idl), set); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, fd := range set.File {
		if !seen[fd.GetName()] {
			seen[fd.GetName()] = true
			once.File = append(once.File, fd)
		}
	}
	files, err := protodesc.NewFiles(once)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What the tags of generated fields say is what the descriptor says: messages at random,
// made by the official run time, come back the same through generated structs.
func TestProtoOracle(t *testing.T) {
	files, r := descriptors(t), rand.New(rand.NewPCG(1, 2))
	for _, m := range messages() {
		d, err := files.FindDescriptorByName(protoreflect.FullName(m.ProtoName()))
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			want := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
			fill(r, want, 3)
			raw, err := proto.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			x := reflect.New(reflect.TypeOf(m).Elem()).Interface()
			if err := protobuf.Unmarshal(raw, x); err != nil {
				t.Fatalf("%s: %v\n%v", m.ProtoName(), err, want)
			}
			back, err := protobuf.Marshal(x)
			if err != nil {
				t.Fatalf("%s: %v\n%v", m.ProtoName(), err, want)
			}
			got := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
			if err := proto.Unmarshal(back, got); err != nil || !proto.Equal(got, want) || len(got.GetUnknown()) > 0 {
				t.Fatalf("%s: %v\n got %v\nwant %v", m.ProtoName(), err, got, want)
			}
			sameJSON(t, m.ProtoName(), x, want)
		}
	}
}

// sameJSON holds the JSON of a message against that of the official run time: what one has
// no JSON for the other has none for either, such as times beyond the year 9999.
func sameJSON(t *testing.T, name string, x any, want *dynamicpb.Message) {
	t.Helper()
	text, err := protobuf.MarshalJSON(x)
	theirs, bad := protojson.Marshal(want)
	if (err == nil) != (bad == nil) {
		t.Fatalf("%s: %v, theirs %v\n%v", name, err, bad, want)
	}
	if err != nil {
		return
	}
	// Of messages that are no JSON once more, such as a number that is none in a Value,
	// only the text is looked at.
	got, back := dynamicpb.NewMessage(want.Descriptor()), dynamicpb.NewMessage(want.Descriptor())
	if protojson.Unmarshal(theirs, back) != nil {
		return
	}
	if err := protojson.Unmarshal(text, got); err != nil || !proto.Equal(got, back) {
		t.Fatalf("%s: %v\n%s\nwant %s", name, err, text, theirs)
	}
}

// fill sets fields at random; required ones always.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		message := f.Message() != nil && !f.IsMap()
		if f.Cardinality() != protoreflect.Required && (r.IntN(2) == 0 || message && depth == 0) {
			continue
		}
		switch {
		case f.IsMap():
			x := m.Mutable(f).Map()
			for range r.IntN(3) {
				x.Set(draw(r, f.MapKey(), protoreflect.Value{}, 0).MapKey(), draw(r, f.MapValue(), x.NewValue(), depth-1))
			}
		case f.IsList():
			x := m.Mutable(f).List()
			for range r.IntN(4) {
				x.Append(draw(r, f, x.NewElement(), depth-1))
			}
		default:
			m.Set(f, draw(r, f, m.NewField(f), depth-1))
		}
	}
}

func draw(r *rand.Rand, f protoreflect.FieldDescriptor, empty protoreflect.Value, depth int) protoreflect.Value {
	n := []uint64{0, 1, math.MaxUint64, uint64(1) << r.IntN(64), r.Uint64()}[r.IntN(5)]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 != 0)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(n)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(n) / 3)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) / 3)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strings.Repeat("é", int(n%5)))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(make([]byte, n%5))
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(int(n % uint64(values.Len()))).Number())
	}
	fill(r, empty.Message(), max(depth, 0))
	return empty
}

// shop answers as the test needs it.
type shop struct{ shopv1.UnimplementedOrders }

func (shop) Get(_ context.Context, req *shopv1.GetOrderRequest) (*shopv1.Order, error) {
	switch req.ID {
	case "none":
		return nil, rpc.Errorf(rpc.NotFound, "order %s", req.ID)
	case "nothing":
		return nil, nil
	}
	return &shopv1.Order{ID: req.ID, Payment: &shopv1.OrderPayment_Cash{Cash: 5}}, nil
}

func (shop) Put(context.Context, *shopv1.Order) (*known.Empty, error) { return &known.Empty{}, nil }

func (shop) List(_ context.Context, req *shopv1.ListOrdersRequest) iter.Seq2[*shopv1.Order, error] {
	return func(yield func(*shopv1.Order, error) bool) {
		for i := range req.PageSize {
			if !yield(&shopv1.Order{Numbers: &shopv1.Numbers{C: i}}, nil) {
				return
			}
		}
	}
}

func (shop) Import(_ context.Context, in iter.Seq2[*shopv1.Order, error]) (*shopv1.ImportResponse, error) {
	n := int64(0)
	for _, err := range in {
		if err != nil {
			return nil, err
		}
		n++
	}
	return &shopv1.ImportResponse{Count: n}, nil
}

func (shop) Watch(_ context.Context, in iter.Seq2[*shopv1.GetOrderRequest, error]) iter.Seq2[*shopv1.Order, error] {
	return func(yield func(*shopv1.Order, error) bool) {
		for req, err := range in {
			if err != nil || !yield(&shopv1.Order{ID: req.ID}, nil) {
				return
			}
		}
	}
}

// A service of a .proto file is called like one of a .thrift file.
func TestProtoCalls(t *testing.T) {
	c := shopv1.NewClient(limosa.Local(shopv1.Service(shop{})))
	var _ shopv1.Orders = c
	ctx := t.Context()
	if got, err := c.Get(ctx, &shopv1.GetOrderRequest{ID: "7"}); err != nil || got.ID != "7" || got.GetCash() != 5 || got.GetCard() != "" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Get(ctx, &shopv1.GetOrderRequest{ID: "none"}); !errors.Is(err, rpc.NotFound) {
		t.Error(err)
	}
	if got, err := c.Get(ctx, &shopv1.GetOrderRequest{ID: "nothing"}); got != nil || rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("a handler that gives nothing: %v, %v", got, err)
	}
	if _, err := c.Put(ctx, &shopv1.Order{}); err != nil {
		t.Error(err)
	}
	//lint:ignore SA1019 a deprecated method is a method
	if _, err := c.Old(ctx, &known.Empty{}); !errors.Is(err, rpc.Unimplemented) {
		t.Error(err)
	}
	n := int32(0)
	for x, err := range c.List(ctx, &shopv1.ListOrdersRequest{PageSize: 3}) {
		if err != nil || x.GetNumbers().C != n {
			t.Errorf("%v, %v", x, err)
		}
		n++
	}
	orders := func(yield func(*shopv1.Order, error) bool) {
		for range 2 {
			if !yield(&shopv1.Order{}, nil) {
				return
			}
		}
	}
	if got, err := c.Import(ctx, orders); err != nil || got.Count != 2 || n != 3 {
		t.Errorf("%v, %v, %d", got, err, n)
	}
	requests := func(yield func(*shopv1.GetOrderRequest, error) bool) { yield(&shopv1.GetOrderRequest{ID: "9"}, nil) }
	for x, err := range c.Watch(ctx, requests) {
		if err != nil || x.ID != "9" {
			t.Errorf("%v, %v", x, err)
		}
	}
}

// Extensions are read from a message and written into it; what others add to it stays.
func TestProtoExtensions(t *testing.T) {
	m := &legacy.Extended{Name: new("n")}
	*m.UnknownProto() = []byte("\xc0\x3e\x05") // field 1000 as a number: of another version
	*m.UnknownProto() = append(*m.UnknownProto(), "\xda\x0c\x01x"...)
	x := &legacy.LegacyExtendedExtensions{Note: new("hi"), Numbers: []int32{1, -2}, Again: &legacy.Extended{Name: new("again")}, ScopeInScope: &legacy.Scope{N: new(uint32(7))}}
	if err := legacy.SetLegacyExtendedExtensions(m, x); err != nil {
		t.Fatal(err)
	}
	raw, err := protobuf.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := new(legacy.Extended)
	if err := protobuf.Unmarshal(raw, back); err != nil {
		t.Fatal(err)
	}
	got, err := legacy.GetLegacyExtendedExtensions(back)
	if err != nil || got.GetNote() != "hi" || !reflect.DeepEqual(got.Numbers, x.Numbers) || got.GetAgain().GetName() != "again" || got.GetScopeInScope().GetN() != 7 ||
		got.GetRank() != legacy.LevelHIGH || back.GetName() != "n" || !strings.HasSuffix(string(raw), "\xc0\x3e\x05\xda\x0c\x01x") {
		t.Errorf("%v, %v\n%x", got, err, raw)
	}
	if err := legacy.SetLegacyExtendedExtensions(back, &legacy.LegacyExtendedExtensions{}); err != nil || string(*back.UnknownProto()) != "\xc0\x3e\x05\xda\x0c\x01x" {
		t.Errorf("%v, %x", err, *back.UnknownProto())
	}
	if got, err := legacy.GetLegacyExtendedExtensions(nil); err != nil || got.GetNote() != "" {
		t.Errorf("%v, %v", got, err)
	}
	*back.UnknownProto() = []byte("\xff")
	if _, err := legacy.GetLegacyExtendedExtensions(back); err == nil || legacy.SetLegacyExtendedExtensions(back, x) == nil {
		t.Error("broken bytes are taken")
	}
}

// Defaults are what getters give, and nothing that a message has.
func TestProtoDefaults(t *testing.T) {
	var none *legacy.Defaults
	for _, x := range []*legacy.Defaults{none, {}} {
		if x.GetA() != 1.5 || x.GetB() != float32(math.Inf(-1)) || !math.IsNaN(x.GetC()) || x.GetD() != -3 || x.GetE() != math.MaxUint64 || !x.GetF() ||
			x.GetG() != "a \"quoted\"\nline" || string(x.GetH()) != "\001\377x" || x.GetI() != legacy.LevelHIGH || x.GetJ() != legacy.LevelLOW ||
			x.GetK() != math.MinInt64 || x.GetL() != 1e-7 {
			t.Errorf("%v", x)
		}
	}
	if raw, err := protobuf.Marshal(&legacy.Defaults{}); err != nil || len(raw) > 0 {
		t.Errorf("%x, %v", raw, err)
	}
	var groups *legacy.Groups
	if groups.GetChosenLevel() != legacy.LevelHIGH || groups.GetText() != "" || groups.GetChosen() != nil || groups.GetResult().GetURL() != "" {
		t.Error("a member of a oneof that is not set")
	}
	if legacy.Level(0).Known() || !legacy.LevelLOW.Known() {
		t.Error("Known")
	}
}
