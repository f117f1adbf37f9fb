package oracle

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

type Color int32

type Leaf struct {
	ID   int64  `thrift:"id,1"`
	Name string `thrift:"name,2"`
	Next *Leaf  `thrift:"next,3,optional"`
}

type Everything struct {
	Bool   bool        `thrift:"bool,1"`
	I8     int8        `thrift:"i8,2"`
	I16    int16       `thrift:"i16,3"`
	I32    int32       `thrift:"i32,4"`
	I64    int64       `thrift:"i64,5"`
	Double float64     `thrift:"double,6"`
	String string      `thrift:"string,7"`
	Binary []byte      `thrift:"binary,8"`
	UUID   thrift.UUID `thrift:"uuid,9"`
	Color  Color       `thrift:"color,10"`
	Leaf   *Leaf       `thrift:"leaf,11"`

	OptI32    *int32   `thrift:"opt_i32,20,optional"`
	OptString *string  `thrift:"opt_string,21,optional"`
	OptDouble *float64 `thrift:"opt_double,22,optional"`
	OptBool   *bool    `thrift:"opt_bool,23,optional"`

	Bools    []bool                `thrift:"bools,30"`
	I8s      []int8                `thrift:"i8s,31"`
	I16s     []int16               `thrift:"i16s,32"`
	I32s     []int32               `thrift:"i32s,33"`
	I64s     []int64               `thrift:"i64s,34"`
	Doubles  []float64             `thrift:"doubles,35"`
	Strings  []string              `thrift:"strings,36"`
	Binaries [][]byte              `thrift:"binaries,37"`
	UUIDs    []thrift.UUID         `thrift:"uuids,38"`
	Colors   []Color               `thrift:"colors,39"`
	Leaves   []*Leaf               `thrift:"leaves,40"`
	Nested   [][]map[string][]int8 `thrift:"nested,41"`
	Set      thrift.Set[string]    `thrift:"set,42"`
	LeafSet  thrift.Set[*Leaf]     `thrift:"leaf_set,43"`

	MSS   map[string]string            `thrift:"mss,50"`
	MCL   map[Color]*Leaf              `thrift:"mcl,51"`
	M88   map[int64]float64            `thrift:"m88,52"`
	MUB   map[thrift.UUID]bool         `thrift:"mub,53"`
	Pairs thrift.Pairs[*Leaf, []Color] `thrift:"pairs,54"`

	Negative int32 `thrift:"negative,-3"`
}

// wire gives Apache's type for a Go type.
func wire(t reflect.Type) apache.TType {
	switch t.Kind() {
	case reflect.Bool:
		return apache.BOOL
	case reflect.Int8:
		return apache.BYTE
	case reflect.Int16:
		return apache.I16
	case reflect.Int32:
		return apache.I32
	case reflect.Int64:
		return apache.I64
	case reflect.Float64:
		return apache.DOUBLE
	case reflect.String:
		return apache.STRING
	case reflect.Array:
		return apache.UUID
	case reflect.Map:
		return apache.MAP
	case reflect.Pointer:
		if t.Elem().Kind() != reflect.Struct {
			return wire(t.Elem())
		}
		return apache.STRUCT
	}
	switch {
	case t.Elem().Kind() == reflect.Uint8:
		return apache.STRING
	case strings.HasPrefix(t.Name(), "Pairs["):
		return apache.MAP
	case strings.HasPrefix(t.Name(), "Set["):
		return apache.SET
	}
	return apache.LIST
}

// A peer drives Apache's TBinaryProtocol the way its generated code does; the
// first error is kept.
type peer struct {
	p   apache.TProtocol
	err error
}

var ctx = context.Background()

func (x *peer) do(err error) {
	if x.err == nil && err != nil {
		x.err = err
	}
}

func tag(f reflect.StructField) (name string, id int16) {
	parts := strings.Split(f.Tag.Get("thrift"), ",")
	n, _ := strconv.Atoi(parts[1])
	return parts[0], int16(n)
}

func (x *peer) write(v reflect.Value) {
	t := v.Type()
	switch wire(t) {
	case apache.BOOL:
		x.do(x.p.WriteBool(ctx, v.Bool()))
	case apache.BYTE:
		x.do(x.p.WriteByte(ctx, int8(v.Int())))
	case apache.I16:
		x.do(x.p.WriteI16(ctx, int16(v.Int())))
	case apache.I32:
		x.do(x.p.WriteI32(ctx, int32(v.Int())))
	case apache.I64:
		x.do(x.p.WriteI64(ctx, v.Int()))
	case apache.DOUBLE:
		x.do(x.p.WriteDouble(ctx, v.Float()))
	case apache.UUID:
		x.do(x.p.WriteUUID(ctx, apache.Tuuid(v.Interface().(thrift.UUID))))
	case apache.STRING:
		if v.Kind() == reflect.Slice {
			x.do(x.p.WriteBinary(ctx, v.Bytes()))
		} else {
			x.do(x.p.WriteString(ctx, v.String()))
		}
	case apache.LIST:
		x.do(x.p.WriteListBegin(ctx, wire(t.Elem()), v.Len()))
		x.elems(v)
		x.do(x.p.WriteListEnd(ctx))
	case apache.SET:
		x.do(x.p.WriteSetBegin(ctx, wire(t.Elem()), v.Len()))
		x.elems(v)
		x.do(x.p.WriteSetEnd(ctx))
	case apache.MAP:
		if v.Kind() == reflect.Slice {
			e := t.Elem()
			x.do(x.p.WriteMapBegin(ctx, wire(e.Field(0).Type), wire(e.Field(1).Type), v.Len()))
			for i := range v.Len() {
				x.write(v.Index(i).Field(0))
				x.write(v.Index(i).Field(1))
			}
			x.do(x.p.WriteMapEnd(ctx))
			return
		}
		x.do(x.p.WriteMapBegin(ctx, wire(t.Key()), wire(t.Elem()), v.Len()))
		for _, k := range v.MapKeys() {
			x.write(k)
			x.write(v.MapIndex(k))
		}
		x.do(x.p.WriteMapEnd(ctx))
	case apache.STRUCT:
		s := v.Elem()
		x.do(x.p.WriteStructBegin(ctx, s.Type().Name()))
		for i := range s.NumField() {
			f := s.Field(i)
			name, id := tag(s.Type().Field(i))
			if f.Kind() == reflect.Pointer {
				if f.IsNil() {
					continue
				}
				if f.Elem().Kind() != reflect.Struct {
					f = f.Elem()
				}
			}
			x.do(x.p.WriteFieldBegin(ctx, name, wire(f.Type()), id))
			x.write(f)
			x.do(x.p.WriteFieldEnd(ctx))
		}
		x.do(x.p.WriteFieldStop(ctx))
		x.do(x.p.WriteStructEnd(ctx))
	}
}

func (x *peer) elems(v reflect.Value) {
	for i := range v.Len() {
		x.write(v.Index(i))
	}
}

// read fills v, which has Go's zero value.
func (x *peer) read(v reflect.Value) {
	if x.err != nil {
		return
	}
	t := v.Type()
	if v.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Struct {
		v.Set(reflect.New(t.Elem()))
		x.read(v.Elem())
		return
	}
	switch wire(t) {
	case apache.BOOL:
		b, err := x.p.ReadBool(ctx)
		x.do(err)
		v.SetBool(b)
	case apache.BYTE:
		n, err := x.p.ReadByte(ctx)
		x.do(err)
		v.SetInt(int64(n))
	case apache.I16:
		n, err := x.p.ReadI16(ctx)
		x.do(err)
		v.SetInt(int64(n))
	case apache.I32:
		n, err := x.p.ReadI32(ctx)
		x.do(err)
		v.SetInt(int64(n))
	case apache.I64:
		n, err := x.p.ReadI64(ctx)
		x.do(err)
		v.SetInt(n)
	case apache.DOUBLE:
		n, err := x.p.ReadDouble(ctx)
		x.do(err)
		v.SetFloat(n)
	case apache.UUID:
		u, err := x.p.ReadUUID(ctx)
		x.do(err)
		v.Set(reflect.ValueOf(thrift.UUID(u)))
	case apache.STRING:
		if v.Kind() == reflect.Slice {
			p, err := x.p.ReadBinary(ctx)
			x.do(err)
			v.SetBytes(append([]byte{}, p...))
		} else {
			s, err := x.p.ReadString(ctx)
			x.do(err)
			v.SetString(s)
		}
	case apache.LIST:
		e, n, err := x.p.ReadListBegin(ctx)
		x.do(err)
		x.fill(v, e, n)
		x.do(x.p.ReadListEnd(ctx))
	case apache.SET:
		e, n, err := x.p.ReadSetBegin(ctx)
		x.do(err)
		x.fill(v, e, n)
		x.do(x.p.ReadSetEnd(ctx))
	case apache.MAP:
		x.readMap(v)
		x.do(x.p.ReadMapEnd(ctx))
	case apache.STRUCT:
		v.Set(reflect.New(t.Elem()))
		x.readStruct(v.Elem())
	}
}

func (x *peer) fill(v reflect.Value, e apache.TType, n int) {
	if want := wire(v.Type().Elem()); e != want {
		x.do(fmt.Errorf("elements are %v; want %v", e, want))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		x.read(v.Index(i))
	}
}

func (x *peer) readMap(v reflect.Value) {
	_, _, n, err := x.p.ReadMapBegin(ctx)
	x.do(err)
	t := v.Type()
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			x.read(v.Index(i).Field(0))
			x.read(v.Index(i).Field(1))
		}
		return
	}
	v.Set(reflect.MakeMap(t))
	for range n {
		k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		x.read(k)
		x.read(e)
		v.SetMapIndex(k, e)
	}
}

func (x *peer) readStruct(s reflect.Value) {
	_, err := x.p.ReadStructBegin(ctx)
	x.do(err)
	for x.err == nil {
		_, typ, id, err := x.p.ReadFieldBegin(ctx)
		x.do(err)
		if typ == apache.STOP {
			break
		}
		known := false
		for i := range s.NumField() {
			if _, want := tag(s.Type().Field(i)); want == id && wire(s.Type().Field(i).Type) == typ {
				x.read(s.Field(i))
				known = true
			}
		}
		if !known {
			x.do(x.p.Skip(ctx, typ))
		}
		x.do(x.p.ReadFieldEnd(ctx))
	}
	x.do(x.p.ReadStructEnd(ctx))
}

// fill makes random values without nils where Thrift has none. few: maps have
// at most one entry, so that there is one order to write them in.
func fill(r *rand.Rand, v reflect.Value, depth int, few bool) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString(strings.Repeat("é", r.IntN(30)))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(r.Uint64() & 255)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth+1, few)
	case reflect.Interface: // a union: its method names the variants
		m := v.Type().Method(0).Type
		x := m.In(r.IntN(m.NumIn()))
		for k := x.Elem().Field(0).Type.Kind(); depth > 6 && (k == reflect.Pointer || k == reflect.Slice); k = x.Elem().Field(0).Type.Kind() {
			x = m.In(r.IntN(m.NumIn()))
		}
		v.Set(reflect.New(x.Elem()))
		fill(r, v.Elem().Elem().Field(0), depth+1, few)
	case reflect.Slice:
		n := r.IntN(5)
		if depth > 6 {
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if e := v.Index(i); e.Kind() == reflect.Uint8 {
				e.SetUint(r.Uint64() & 255)
			} else {
				fill(r, e, depth+1, few)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		n := r.IntN(6)
		if few || depth > 4 {
			n = r.IntN(2)
		}
		if depth > 6 {
			n = 0
		}
		for range n {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, depth+1, few)
			fill(r, e, depth+1, few)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if _, field := v.Type().Field(i).Tag.Lookup("thrift"); field && f.Kind() == reflect.Pointer && (r.IntN(2) == 0 || depth > 6) {
				continue
			}
			fill(r, f, depth+1, few)
		}
	}
}

func TestBinaryAgainstApache(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for seed := range uint64(500) {
		few := seed%2 == 0
		r := rand.New(rand.NewPCG(seed, 1))
		want := new(Everything)
		fill(r, reflect.ValueOf(want).Elem(), 0, few)

		mem := apache.NewTMemoryBuffer()
		w := &peer{p: apache.NewTBinaryProtocolConf(mem, nil)}
		w.write(reflect.ValueOf(want))
		if w.err != nil {
			t.Fatal(w.err)
		}
		theirs := bytes.Clone(mem.Bytes())

		var out buf.Out
		if err := (thrift.Binary{}).Append(&out, want); err != nil {
			t.Fatal(err)
		}
		ours := out.Bytes()
		out.Reset()
		if few && !bytes.Equal(ours, theirs) {
			t.Fatalf("seed %d: encoded\n%x; Apache has\n%x", seed, ours, theirs)
		}
		if len(ours) != len(theirs) {
			t.Fatalf("seed %d: %d bytes; Apache has %d", seed, len(ours), len(theirs))
		}

		got := new(Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(theirs), got, lim); err != nil {
			t.Fatalf("seed %d: Apache's bytes: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: Apache's bytes became\n%+v; want\n%+v", seed, got, want)
		}

		in := apache.NewTMemoryBuffer()
		in.Write(ours)
		var back *Everything
		x := &peer{p: apache.NewTBinaryProtocolConf(in, nil)}
		x.read(reflect.ValueOf(&back).Elem())
		if x.err != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("seed %d: Apache read our bytes as\n%+v, %v; want\n%+v", seed, back, x.err, want)
		}
	}
}

func TestEnvelopesAgainstApache(t *testing.T) {
	for _, name := range []string{"", "echo", strings.Repeat("long", 100)} {
		for typ := raw.Call; typ <= raw.Oneway; typ++ {
			for _, strict := range []bool{true, false} {
				mem := apache.NewTMemoryBuffer()
				p := apache.NewTBinaryProtocolConf(mem, &apache.TConfiguration{TBinaryStrictWrite: &strict})
				if err := p.WriteMessageBegin(ctx, name, apache.TMessageType(typ), -7); err != nil {
					t.Fatal(err)
				}
				theirs := mem.Bytes()
				gotName, gotType, seq, n, err := raw.ParseMessageBegin(theirs, !strict)
				if string(gotName) != name || gotType != typ || seq != -7 || n != len(theirs) || err != nil {
					t.Errorf("%x: %q %v %d, %d bytes, %v", theirs, gotName, gotType, seq, n, err)
				}
				if ours := raw.AppendMessageBegin(nil, name, typ, -7); strict && !bytes.Equal(ours, theirs) {
					t.Errorf("%x; Apache has %x", ours, theirs)
				}
			}
		}
	}
}

func TestExceptionsAgainstApache(t *testing.T) {
	mem := apache.NewTMemoryBuffer()
	p := apache.NewTBinaryProtocolConf(mem, nil)
	if err := apache.NewTApplicationException(apache.UNKNOWN_METHOD, "no such thing").Write(ctx, p); err != nil {
		t.Fatal(err)
	}
	ours := raw.AppendException(nil, "no such thing", raw.UnknownMethod)
	if !bytes.Equal(ours, mem.Bytes()) {
		t.Errorf("%x; Apache has %x", ours, mem.Bytes())
	}
	in := apache.NewTMemoryBuffer()
	in.Write(ours)
	x := apache.NewTApplicationException(0, "")
	if err := x.Read(ctx, apache.NewTBinaryProtocolConf(in, nil)); err != nil || x.TypeId() != apache.UNKNOWN_METHOD || x.Error() != "no such thing" {
		t.Errorf("%v %d, %v", x, x.TypeId(), err)
	}
}

// TestSkipAgainstApache lets Apache skip what we write and the other way round.
func TestSkipAgainstApache(t *testing.T) {
	for seed := range uint64(100) {
		msg := new(Everything)
		fill(rand.New(rand.NewPCG(seed, 2)), reflect.ValueOf(msg).Elem(), 0, false)
		var out buf.Out
		if err := (thrift.Binary{}).Append(&out, msg); err != nil {
			t.Fatal(err)
		}
		body := out.Bytes()
		out.Reset()
		in := apache.NewTMemoryBuffer()
		in.Write(body)
		if err := apache.NewTBinaryProtocolConf(in, nil).Skip(ctx, apache.STRUCT); err != nil || in.Len() != 0 {
			t.Fatalf("seed %d: Apache leaves %d bytes, %v", seed, in.Len(), err)
		}
		if n, err := raw.SkipStruct(append(body, 1), 64); n != len(body) || err != nil {
			t.Fatalf("seed %d: %d of %d, %v", seed, n, len(body), err)
		}
	}
}
