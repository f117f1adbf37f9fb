package thrifttest

import "github.com/limosa-rpc/limosa/thrift"

// Types as the generator writes them, one of each kind and of each combination
// that has a path of its own.

// A Color is an enum.
type Color int32

// A Leaf is a small struct.
type Leaf struct {
	ID   int64  `thrift:"id,1"`
	Name string `thrift:"name,2"`
}

// A Tree refers to itself in every way.
type Tree struct {
	Value    int32            `thrift:"value,1"`
	Children []*Tree          `thrift:"children,2,optional"`
	Named    map[string]*Tree `thrift:"named,3,optional"`
	Next     *Tree            `thrift:"next,4,optional"`
	Either   Either           `thrift:"either,5,optional"`
}

// An Either is a union.
type Either interface {
	isUnion(*EitherNumber, *EitherText, *EitherTree, *EitherList)
}

// An EitherNumber is its first variant.
type EitherNumber struct {
	Number int64 `thrift:"number,1"`
}

// An EitherText is its second one.
type EitherText struct {
	Text string `thrift:"text,2"`
}

// An EitherTree leads back.
type EitherTree struct {
	Tree *Tree `thrift:"tree,3"`
}

// An EitherList has unions within.
type EitherList struct {
	List []Either `thrift:"list,4"`
}

func (*EitherNumber) isUnion(*EitherNumber, *EitherText, *EitherTree, *EitherList) {}
func (*EitherText) isUnion(*EitherNumber, *EitherText, *EitherTree, *EitherList)   {}
func (*EitherTree) isUnion(*EitherNumber, *EitherText, *EitherTree, *EitherList)   {}
func (*EitherList) isUnion(*EitherNumber, *EitherText, *EitherTree, *EitherList)   {}

// Defaults has default values.
type Defaults struct {
	Port  int32   `thrift:"port,1"`
	Host  *string `thrift:"host,2,optional"`
	Inner *Leaf   `thrift:"inner,3,optional"`
	List  []int32 `thrift:"list,4"`
}

// SetDefaults sets them.
func (d *Defaults) SetDefaults() {
	d.Port, d.Host = 80, new("localhost")
	d.List = []int32{1, 2}
}

// A Strict has required fields.
type Strict struct {
	A int32  `thrift:"a,1,required"`
	B string `thrift:"b,2,required"`
	C *Leaf  `thrift:"c,3,required"`
	D []byte `thrift:"d,4,required"`
}

// Everything has a field of every type.
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
	Either Either      `thrift:"either,12"`
	Tree   *Tree       `thrift:"tree,13,optional"`

	OptBool   *bool        `thrift:"opt_bool,20,optional"`
	OptI8     *int8        `thrift:"opt_i8,21,optional"`
	OptI16    *int16       `thrift:"opt_i16,22,optional"`
	OptI32    *int32       `thrift:"opt_i32,23,optional"`
	OptI64    *int64       `thrift:"opt_i64,24,optional"`
	OptDouble *float64     `thrift:"opt_double,25,optional"`
	OptString *string      `thrift:"opt_string,26,optional"`
	OptBinary []byte       `thrift:"opt_binary,27,optional"`
	OptUUID   *thrift.UUID `thrift:"opt_uuid,28,optional"`
	OptColor  *Color       `thrift:"opt_color,29,optional"`
	OptList   []string     `thrift:"opt_list,30,optional"`

	Bools    []bool            `thrift:"bools,40"`
	I8s      []int8            `thrift:"i8s,41"`
	I16s     []int16           `thrift:"i16s,42"`
	I32s     []int32           `thrift:"i32s,43"`
	I64s     []int64           `thrift:"i64s,44"`
	Doubles  []float64         `thrift:"doubles,45"`
	Strings  []string          `thrift:"strings,46"`
	Binaries [][]byte          `thrift:"binaries,47"`
	UUIDs    []thrift.UUID     `thrift:"uuids,48"`
	Colors   []Color           `thrift:"colors,49"`
	Leaves   []*Leaf           `thrift:"leaves,50"`
	Eithers  []Either          `thrift:"eithers,51"`
	Lists    [][]int64         `thrift:"lists,52"`
	Maps     []map[string]bool `thrift:"maps,53"`
	PairList []thrift.Pairs[*Leaf, int8]

	I64Set     thrift.Set[int64]             `thrift:"i64_set,60"`
	StringSet  thrift.Set[string]            `thrift:"string_set,61"`
	LeafSet    thrift.Set[*Leaf]             `thrift:"leaf_set,62"`
	NestedSet  thrift.Set[thrift.Set[Color]] `thrift:"nested_set,63"`
	LeafPairs  thrift.Pairs[*Leaf, string]   `thrift:"leaf_pairs,64"`
	BytesPairs thrift.Pairs[[]byte, Either]  `thrift:"bytes_pairs,65"`
	ListPairs  thrift.Pairs[[]int16, int8]   `thrift:"list_pairs,66"`

	MSS  map[string]string           `thrift:"mss,80"`
	MSP  map[string]*Leaf            `thrift:"msp,81"`
	MSL  map[string][]int64          `thrift:"msl,82"`
	MSB  map[string][]byte           `thrift:"msb,83"`
	MSM  map[string]map[Color]int16  `thrift:"msm,84"`
	MS8  map[string]float64          `thrift:"ms8,85"`
	MS4  map[string]Color            `thrift:"ms4,86"`
	MS2  map[string]int16            `thrift:"ms2,87"`
	MS1  map[string]int8             `thrift:"ms1,88"`
	MSt  map[string]bool             `thrift:"mst,89"`
	MSU  map[string]thrift.UUID      `thrift:"msu,90"`
	MSE  map[string]Either           `thrift:"mse,91"`
	M4S  map[Color]string            `thrift:"m4s,92"`
	M4P  map[int32]*Leaf             `thrift:"m4p,93"`
	M4L  map[int32][]string          `thrift:"m4l,94"`
	M48  map[int32]int64             `thrift:"m48,95"`
	M44  map[Color]Color             `thrift:"m44,96"`
	M8S  map[int64]string            `thrift:"m8s,97"`
	M8P  map[int64]*Leaf             `thrift:"m8p,98"`
	M8L  map[int64]thrift.Set[bool]  `thrift:"m8l,99"`
	M88  map[int64]float64           `thrift:"m88,100"`
	M84  map[int64]int32             `thrift:"m84,101"`
	MDS  map[float64]string          `thrift:"mds,102"`
	MD8  map[float64]int64           `thrift:"md8,103"`
	MBS  map[bool]string             `thrift:"mbs,104"`
	M18  map[int8]int64              `thrift:"m18,105"`
	M21  map[int16]bool              `thrift:"m21,106"`
	MUS  map[thrift.UUID]string      `thrift:"mus,107"`
	MSMM map[string]map[string]*Tree `thrift:"msmm,108"`

	Negative int32 `thrift:"negative,-5"`
	Far      int32 `thrift:"far,30000"`

	Plain      int    // no tag: not on the wire
	unexported string `thrift:"unexported,200"`
}

// Echo, Small and Medium are the shapes that `bench codec` measures.

// An Echo is a message of the benchmarks.
type Echo struct {
	ID      int64   `thrift:"id,1"`
	Text    string  `thrift:"text,2"`
	Numbers []int64 `thrift:"numbers,3"`
}

// A Small is one of a few fields.
type Small struct {
	ID    int64   `thrift:"id,1"`
	Kind  int32   `thrift:"kind,2"`
	Sku   string  `thrift:"sku,3"`
	Name  string  `thrift:"name,4"`
	Price float64 `thrift:"price,5"`
	Count int32   `thrift:"count,6"`
	Live  bool    `thrift:"live,7"`
	Owner string  `thrift:"owner,8"`
	Made  int64   `thrift:"made,9"`
	Note  string  `thrift:"note,10"`
}

// An Item is an element of Medium.
type Item struct {
	ID    int64   `thrift:"id,1"`
	Sku   string  `thrift:"sku,2"`
	Name  string  `thrift:"name,3"`
	Price float64 `thrift:"price,4"`
	Count int32   `thrift:"count,5"`
	Live  bool    `thrift:"live,6"`
	Made  int64   `thrift:"made,7"`
	Note  string  `thrift:"note,8"`
}

// A Medium is one with lists and maps.
type Medium struct {
	ID    int64             `thrift:"id,1"`
	Items []*Item           `thrift:"items,2"`
	Tags  map[string]string `thrift:"tags,3"`
	Blob  []byte            `thrift:"blob,4"`
}

// Numbers is one of nothing but numbers.
type Numbers struct {
	Numbers []int64 `thrift:"numbers,1"`
}

// Hide sets the field that no codec sees.
func (m *Everything) Hide(s string) { m.unexported = s }
