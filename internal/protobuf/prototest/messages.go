//lint:file-ignore U1000 unknown fields are read and written by the codec

package prototest

import (
	"errors"
	"strconv"
)

// Color is an open enum.
type Color int32

// String names some.
func (c Color) String() string {
	switch c {
	case 0:
		return "NONE"
	case 1:
		return "RED"
	case -5:
		return "BLUE"
	}
	return "Color(?)"
}

// MarshalText gives a name, or digits.
func (c Color) MarshalText() ([]byte, error) {
	if s := c.String(); s != "Color(?)" {
		return []byte(s), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// UnmarshalText takes a name.
func (c *Color) UnmarshalText(p []byte) error {
	switch string(p) {
	case "NONE":
		*c = 0
	case "RED":
		*c = 1
	case "BLUE":
		*c = -5
	default:
		return errors.New("no color")
	}
	return nil
}

// Leaf is a small message.
type Leaf struct {
	ID    int64   `proto:"1,int64,name=id"`
	Name  string  `proto:"2,string,name=name"`
	Price float64 `proto:"3,double,name=price"`

	unknown []byte `proto:"unknown"`
}

// Unknown is what a Leaf keeps, for tests.
func (x *Leaf) Unknown() []byte { return x.unknown }

// All has everything that proto3 has.
type All struct {
	I32    int32              `proto:"1,int32,name=i32"`
	I64    int64              `proto:"2,int64,name=i64"`
	U32    uint32             `proto:"3,uint32,name=u32"`
	U64    uint64             `proto:"4,uint64,name=u64"`
	S32    int32              `proto:"5,sint32,name=s32"`
	S64    int64              `proto:"6,sint64,name=s64"`
	F32    uint32             `proto:"7,fixed32,name=f32"`
	F64    uint64             `proto:"8,fixed64,name=f64"`
	Sf32   int32              `proto:"9,sfixed32,name=sf32"`
	Sf64   int64              `proto:"10,sfixed64,name=sf64"`
	Fl     float32            `proto:"11,float,name=fl"`
	Db     float64            `proto:"12,double,name=db"`
	Bl     bool               `proto:"13,bool,name=bl"`
	St     string             `proto:"14,string,name=st"`
	By     []byte             `proto:"15,bytes,name=by"`
	Color  Color              `proto:"16,enum,name=color"`
	Leaf   *Leaf              `proto:"17,message,name=leaf"`
	Self   *All               `proto:"18,message,name=self"`
	Li32   []int32            `proto:"21,int32,packed,name=li32"`
	Li64   []int64            `proto:"22,int64,packed,name=li64"`
	Lu32   []uint32           `proto:"23,uint32,packed,name=lu32"`
	Lu64   []uint64           `proto:"24,uint64,packed,name=lu64"`
	Ls32   []int32            `proto:"25,sint32,packed,name=ls32"`
	Ls64   []int64            `proto:"26,sint64,packed,name=ls64"`
	Lf32   []uint32           `proto:"27,fixed32,packed,name=lf32"`
	Lf64   []uint64           `proto:"28,fixed64,packed,name=lf64"`
	Lsf32  []int32            `proto:"29,sfixed32,packed,name=lsf32"`
	Lsf64  []int64            `proto:"30,sfixed64,packed,name=lsf64"`
	Lfl    []float32          `proto:"31,float,packed,name=lfl"`
	Ldb    []float64          `proto:"32,double,packed,name=ldb"`
	Lbl    []bool             `proto:"33,bool,packed,name=lbl"`
	Lst    []string           `proto:"34,string,name=lst"`
	Lby    [][]byte           `proto:"35,bytes,name=lby"`
	Lcolor []Color            `proto:"36,enum,packed,name=lcolor"`
	Lleaf  []*Leaf            `proto:"37,message,name=lleaf"`
	Lself  []*All             `proto:"38,message,name=lself"`
	Loose  []int64            `proto:"39,int64,name=loose"`
	Lloose []bool             `proto:"40,bool,name=lloose"`
	Oi32   *int32             `proto:"41,int32,explicit,name=oi32"`
	Oi64   *int64             `proto:"42,int64,explicit,name=oi64"`
	Ou32   *uint32            `proto:"43,uint32,explicit,name=ou32"`
	Os64   *int64             `proto:"44,sint64,explicit,name=os64"`
	Of32   *uint32            `proto:"45,fixed32,explicit,name=of32"`
	Odb    *float64           `proto:"46,double,explicit,name=odb"`
	Obl    *bool              `proto:"47,bool,explicit,name=obl"`
	Ost    *string            `proto:"48,string,explicit,name=ost"`
	Oby    []byte             `proto:"49,bytes,explicit,name=oby"`
	Ocolor *Color             `proto:"50,enum,explicit,name=ocolor"`
	Mss    map[string]string  `proto:"61,map(string,string),name=mss"`
	Msl    map[string]*Leaf   `proto:"62,map(string,message),name=msl"`
	Mil    map[int32]*Leaf    `proto:"63,map(int32,message),name=mil"`
	Mll    map[int64]int64    `proto:"64,map(int64,int64),name=mll"`
	Mbb    map[bool][]byte    `proto:"65,map(bool,bytes),name=mbb"`
	Msc    map[string]Color   `proto:"66,map(string,enum),name=msc"`
	Muf    map[uint32]float32 `proto:"67,map(uint32,float),name=muf"`
	Mzs    map[int64]string   `proto:"68,map(sint64,string),name=mzs"`
	Mfd    map[uint32]float64 `proto:"69,map(fixed32,double),name=mfd"`
	Msi    map[string]int32   `proto:"70,map(string,int32),name=msi"`
	Msj    map[string]int64   `proto:"71,map(string,int64),name=msj"`
	Msb    map[string]bool    `proto:"72,map(string,bool),name=msb"`
	Msy    map[string][]byte  `proto:"73,map(string,bytes),name=msy"`
	Mxa    map[int64]*All     `proto:"74,map(sfixed64,message),name=mxa"`
	Muz    map[uint64]int32   `proto:"75,map(uint64,sint32),name=muz"`
	Either Either             `proto:"oneof,name=either"`
	Many   Many               `proto:"oneof,name=many"`

	unknown []byte `proto:"unknown"`
}

// Unknown is what an All keeps, for tests.
func (x *All) Unknown() []byte { return x.unknown }

// Either is a oneof.
type Either interface {
	isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll)
}

// EitherInt is one of Either.
type EitherInt struct {
	Value int32 `proto:"2001,int32,name=either_int"`
}

func (*EitherInt) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// EitherText is one of Either.
type EitherText struct {
	Value string `proto:"2002,string,name=either_text"`
}

func (*EitherText) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// EitherLeaf is one of Either.
type EitherLeaf struct {
	Value *Leaf `proto:"2003,message,name=either_leaf"`
}

func (*EitherLeaf) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// EitherBytes is one of Either.
type EitherBytes struct {
	Value []byte `proto:"2004,bytes,name=either_bytes"`
}

func (*EitherBytes) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// EitherColor is one of Either.
type EitherColor struct {
	Value Color `proto:"2005,enum,name=either_color"`
}

func (*EitherColor) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// EitherDouble is one of Either.
type EitherDouble struct {
	Value float64 `proto:"2006,double,name=either_double"`
}

func (*EitherDouble) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// EitherAll is one of Either.
type EitherAll struct {
	Value *All `proto:"2007,message,name=either_all"`
}

func (*EitherAll) isUnion(*EitherInt, *EitherText, *EitherLeaf, *EitherBytes, *EitherColor, *EitherDouble, *EitherAll) {
}

// Many is a oneof.
type Many interface {
	isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9))
}

// ManyM1 is one of Many.
type ManyM1 struct {
	Value bool `proto:"536870901,bool,name=m1"`
}

func (*ManyM1) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM2 is one of Many.
type ManyM2 struct {
	Value int64 `proto:"536870902,sint64,name=m2"`
}

func (*ManyM2) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM3 is one of Many.
type ManyM3 struct {
	Value uint32 `proto:"536870903,fixed32,name=m3"`
}

func (*ManyM3) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM4 is one of Many.
type ManyM4 struct {
	Value string `proto:"536870904,string,name=m4"`
}

func (*ManyM4) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM5 is one of Many.
type ManyM5 struct {
	Value string `proto:"536870905,string,name=m5"`
}

func (*ManyM5) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM6 is one of Many.
type ManyM6 struct {
	Value string `proto:"536870906,string,name=m6"`
}

func (*ManyM6) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM7 is one of Many.
type ManyM7 struct {
	Value string `proto:"536870907,string,name=m7"`
}

func (*ManyM7) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM8 is one of Many.
type ManyM8 struct {
	Value string `proto:"536870908,string,name=m8"`
}

func (*ManyM8) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// ManyM9 is one of Many.
type ManyM9 struct {
	Value *Leaf `proto:"536870911,message,name=m9"`
}

func (*ManyM9) isUnion(func(*ManyM1, *ManyM2, *ManyM3, *ManyM4, *ManyM5, *ManyM6, *ManyM7, *ManyM8, *ManyM9)) {
}

// Old has what only proto2 has.
type Old struct {
	ID    *int32            `proto:"1,int32,required,name=id"`
	Text  *string           `proto:"2,string,explicit,noutf8,name=text"`
	Data  []byte            `proto:"3,bytes,explicit,name=data"`
	Loose []int32           `proto:"4,int32,name=loose"`
	Tight []int32           `proto:"5,int32,packed,name=tight"`
	Part  *OldPart          `proto:"6,group,name=part"`
	Parts []*OldParts       `proto:"7,group,name=parts"`
	Next  *Old              `proto:"8,message,name=next"`
	Needs []*Needs          `proto:"9,message,name=needs"`
	Named map[string]*Needs `proto:"10,map(string,message),noutf8,name=named"`
	Last  *string           `proto:"536870911,string,required,noutf8,name=last"`

	unknown []byte `proto:"unknown"`
}

// OldPart is a group.
type OldPart struct {
	Size  *int64          `proto:"1,int64,explicit,name=size"`
	Inner []*OldPartInner `proto:"2,group,name=inner"`
	Live  *bool           `proto:"3,bool,required,name=live"`

	unknown []byte `proto:"unknown"`
}

// OldPartInner is a group in a group.
type OldPartInner struct {
	Name *string `proto:"1,string,explicit,noutf8,name=name"`

	unknown []byte `proto:"unknown"`
}

// OldParts is a group that is repeated.
type OldParts struct {
	Size *int64 `proto:"1,int64,explicit,name=size"`

	unknown []byte `proto:"unknown"`
}

// Needs has nothing that may be absent.
type Needs struct {
	Value *float64 `proto:"1,double,required,name=value"`
	Raw   []byte   `proto:"2,bytes,required,name=raw"`
	Old   *Old     `proto:"3,message,required,name=old"`

	unknown []byte `proto:"unknown"`
}
