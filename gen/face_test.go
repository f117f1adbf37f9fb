package gen_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/hello"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/face"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/kinds"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/shared"
	"github.com/limosa-rpc/limosa/thrift"
)

// A getter gives what is there, else the default of the IDL, else the zero value;
// of a message that is nil too, so that a chain of them needs no look.
func TestGetters(t *testing.T) {
	var none *hello.Everything
	some := &hello.Everything{Od: new(int32(3)), Oh: []byte{}, Place: &hello.Point{Y: new(4.5)}, Thing: &shared.Thing{}}
	for name, c := range map[string]struct{ got, want any }{
		"number of nil":              {none.GetOd(), int32(0)},
		"number that is absent":      {new(hello.Everything).GetOd(), int32(0)},
		"number":                     {some.GetOd(), int32(3)},
		"bool of nil":                {none.GetOa(), false},
		"string of nil":              {none.GetOg(), ""},
		"uuid of nil":                {none.GetOi(), thrift.UUID{}},
		"enum of nil":                {none.GetOj(), hello.Color(0)},
		"binary of nil":              {none.GetOh(), []byte(nil)},
		"binary that is empty":       {some.GetOh(), []byte{}},
		"struct of nil":              {none.GetPlace(), (*hello.Point)(nil)},
		"default through a chain":    {none.GetPlace().GetY(), 1.5},
		"value through a chain":      {some.GetPlace().GetY(), 4.5},
		"required struct":            {some.GetNeeded().GetY(), 1.5},
		"default of another package": {some.GetThing().GetNote(), "none"},
		"default of nil":             {(*shared.Thing)(nil).GetNote(), "none"},
		"exception's struct":         {(*hello.NotFound)(nil).GetAt().GetY(), 1.5},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %#v, want %#v", name, c.got, c.want)
		}
	}
}

// Every kind of default, of a nil message and of an empty one.
func TestGetterDefaults(t *testing.T) {
	for _, x := range []*face.Absent{nil, {}} {
		for name, c := range map[string]struct{ got, want any }{
			"flag":    {x.GetFlag(), true},
			"number":  {x.GetNumber(), int64(-3)},
			"ratio":   {x.GetRatio(), 1.5},
			"text":    {x.GetText(), "none"},
			"raw":     {x.GetRaw(), []byte("raw")},
			"id":      {x.GetID().String(), "00112233-4455-6677-8899-aabbccddeeff"},
			"level":   {x.GetLevel(), face.LevelHIGH},
			"strings": {x.GetStrings(), []string{"a", "b"}},
			"counts":  {x.GetCounts(), map[string]int32{"a": 1}},
			"inner":   {x.GetInner().N, int32(7)},
			"other":   {x.GetOther().GetDeeper().GetDeeper(), (*face.Inner)(nil)},
			"one":     {x.GetOne(), face.One(&face.OneN{N: 9})},
			"bare":    {x.GetBare(), []int32(nil)},
			"plain":   {x.GetPlain(), (*face.Inner)(nil)},
			"made":    {x.GetMade(), &face.Inner{N: 8}},
		} {
			if !reflect.DeepEqual(c.got, c.want) {
				t.Errorf("%s: %#v, want %#v", name, c.got, c.want)
			}
		}
	}
	x := face.NewAbsent()
	x.Strings[0], *x.Number, x.Raw = "changed", 5, []byte{}
	if x.GetStrings()[0] != "changed" || x.GetNumber() != 5 || x.GetRaw() == nil || len(x.GetRaw()) != 0 {
		t.Errorf("what is set: %v, %d, %v", x.GetStrings(), x.GetNumber(), x.GetRaw())
	}
}

// A default that is a container is made anew: who changes what a getter gives
// changes nobody else's.
func TestGetterDefaultsAreFresh(t *testing.T) {
	var none *face.Absent
	none.GetStrings()[0] = "changed"
	none.GetInner().N = 99
	if none.GetStrings()[0] != "a" || none.GetInner().N != 7 {
		t.Error("two getters share a default")
	}
}

// A getter's name yields to a field's.
func TestGetterNames(t *testing.T) {
	//lint:ignore SA1019 a deprecated field is a field
	x := &face.Taken{X: new(int32(1)), GetX: 2, GetX_: new(int32(3)), String: new(int32(4))}
	//lint:ignore SA1019 the same
	if x.GetX__() != 1 || x.GetGetX_() != 3 || x.GetString() != 4 {
		t.Errorf("%+v", x)
	}
}

// TestJSON holds what encoding/json makes of generated types, whole, and that it
// reads that again.
func TestJSON(t *testing.T) {
	for name, c := range map[string]struct {
		msg, back any
		want      string
	}{
		"names of the IDL": {&hello.Point{X: 1, Color: hello.ColorBLUE}, new(hello.Point), `{"x":1,"color":"BLUE"}`},
		"optional":         {&hello.Point{Y: new(0.0)}, new(hello.Point), `{"x":0,"y":0,"color":"0"}`},
		"unknown number":   {&hello.Point{Color: 77}, new(hello.Point), `{"x":0,"color":"77"}`},
		"number below 0":   {&hello.Point{Color: -7}, new(hello.Point), `{"x":0,"color":"-7"}`},
		"several names":    {&hello.Point{Color: hello.ColorTEAL}, new(hello.Point), `{"x":0,"color":"GREEN"}`},
		"absent":           {&shared.Thing{Kind: shared.KindBIG}, new(shared.Thing), `{"kind":"BIG"}`},
		"exception":        {&hello.NotFound{Message: "no", At: &hello.Point{X: 2}}, new(hello.NotFound), `{"message":"no","at":{"x":2,"color":"0"}}`},
		"keys": {&map[hello.Color]map[thrift.UUID]int32{hello.ColorRED: {{1: 0xff}: 1}, 5: nil}, new(map[hello.Color]map[thrift.UUID]int32),
			`{"5":null,"RED":{"00ff0000-0000-0000-0000-000000000000":1}}`},
		"pairs": {&thrift.Pairs[*hello.Point, string]{{Key: &hello.Point{}, Value: "v"}}, new(thrift.Pairs[*hello.Point, string]),
			`[{"key":{"x":0,"color":"0"},"value":"v"}]`},
		"own tag": {&ownTag{URL: "u"}, new(ownTag), `{"u":"u"}`},
	} {
		p, err := json.Marshal(c.msg)
		if err != nil || string(p) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, p, c.want)
			continue
		}
		if err := json.Unmarshal(p, c.back); err != nil || !reflect.DeepEqual(c.back, c.msg) {
			t.Errorf("%s: comes back as %+v, %v", name, c.back, err)
		}
	}
}

// ownTag has the field of Everything that names itself in its go.tag.
type ownTag struct {
	URL string `json:"u"`
}

// The tag of the IDL counts where it names the field for JSON.
func TestJSONTags(t *testing.T) {
	for field, want := range map[string]string{
		"URL": "u", "A": "a", "Oa": "oa,omitempty", "Oh": "oh,omitzero", "UserID": "user_id", "Place": "place", "Choice": "choice",
	} {
		f, ok := reflect.TypeFor[hello.Everything]().FieldByName(field)
		if got := f.Tag.Get("json"); !ok || got != want || strings.Count(string(f.Tag), "json:") != 1 {
			t.Errorf("%s: %q, want %q; the whole is %s", field, got, want, f.Tag)
		}
	}
}

// An empty container that is there stays there.
func TestJSONKeepsEmpty(t *testing.T) {
	type part struct {
		Oh []byte `json:"oh,omitzero"` // as in Everything
	}
	for _, c := range []struct {
		of   part
		want string
	}{{part{}, `{}`}, {part{Oh: []byte{}}, `{"oh":""}`}} {
		if p, err := json.Marshal(c.of); err != nil || string(p) != c.want {
			t.Errorf("%s, %v; want %s", p, err, c.want)
		}
	}
}

// A union is an object with the name of what is set.
func TestJSONUnion(t *testing.T) {
	for want, u := range map[string]hello.Choice{
		`{"number":5}`:                       &hello.ChoiceNumber{Number: 5},
		`{"text":""}`:                        &hello.ChoiceText{},
		`{"again":{"bytes":"AQ=="}}`:         &hello.ChoiceAgain{Again: &hello.ChoiceBytes{Bytes: []byte{1}}},
		`{"points":[{"x":1,"color":"RED"}]}`: &hello.ChoicePoints{Points: []*hello.Point{{X: 1, Color: hello.ColorRED}}},
	} {
		if p, err := json.Marshal(u); err != nil || string(p) != want {
			t.Errorf("%s, %v; want %s", p, err, want)
		}
	}
	if p, err := json.Marshal(&face.Absent{One: &face.OneN{N: 5}}); err != nil || string(p) != `{"one":{"n":5},"plain":null,"made":null}` {
		t.Errorf("%s, %v", p, err)
	}
}

// What encoding/json writes of unions it reads again: where they are fields, in
// containers, in each other and as the keys of Pairs.
func TestJSONReadsUnions(t *testing.T) {
	for name, msg := range map[string]any{
		"unset":    &face.Absent{},
		"field":    &face.Absent{One: &face.OneN{N: 5}},
		"zero":     &face.Absent{One: &face.OneN{}},
		"nested":   &hello.ChoiceAgain{Again: &hello.ChoiceAgain{Again: &hello.ChoicePoint{Point: &hello.Point{X: 1}}}},
		"nil":      &hello.ChoiceAgain{Again: &hello.ChoicePoints{}},
		"many":     &face.ManyWithALongName{WithALongName: []face.Many{&face.ManyHh{Hh: 8}, nil, &face.ManyWithALongName{WithALongName: []face.Many{}}}},
		"no kinds": &kinds.WideK{},
		"all kinds": &kinds.WideJ{J: []kinds.Wide{
			&kinds.WideA{A: true}, &kinds.WideB{B: -128}, &kinds.WideC{C: 300}, &kinds.WideD{D: -5}, &kinds.WideE{E: math.MinInt64},
			&kinds.WideF{F: -1.5e300}, &kinds.WideG{G: "<\u2028\">"}, &kinds.WideH{H: []byte{}}, &kinds.WideI{I: &kinds.Leaf{}},
		}},
		"beside others": &kinds.Boxes{
			Flags: []bool{true}, Ids: []thrift.UUID{{1}, {}}, Blobs: [][]byte{{1}, {}}, Grid: [][]*kinds.Leaf{{{}}, nil},
			ByKind: map[kinds.Kind]*kinds.Leaf{7: nil}, Branches: map[int32][]*kinds.Branch{-1: {}},
			Choice: &kinds.ChoiceText{Text: "é"}, Choices: []kinds.Choice{&kinds.ChoiceNumber{Number: 1}, nil, &kinds.ChoiceLeaf{Leaf: &kinds.Leaf{}}},
			ByLeaf: thrift.Pairs[*kinds.Leaf, string]{{Key: &kinds.Leaf{}, Value: "v"}},
		},
	} {
		text, err := json.Marshal(msg)
		back := reflect.New(reflect.TypeOf(msg).Elem()).Interface()
		if err == nil {
			err = json.Unmarshal(text, back)
		}
		if err != nil || !reflect.DeepEqual(msg, back) {
			t.Errorf("%s: %s is read as %+v, %v", name, text, back, err)
		}
	}
	// In a type that is not generated, a field of one that is.
	var reply struct{ Results []*face.Absent }
	if err := json.Unmarshal([]byte(`{"Results":[{"one":{"n":7}}]}`), &reply); err != nil || !reflect.DeepEqual(reply.Results[0].One, &face.OneN{N: 7}) {
		t.Errorf("%+v, %v", reply, err)
	}
}

// A variant that is not known is unset, as on the wire; two do not say which is meant.
func TestJSONUnionsThatAreNotClear(t *testing.T) {
	for text, want := range map[string]hello.Choice{
		`{}`: nil, `{"choice":null}`: nil, `{"choice":{}}`: nil, `{"choice":{"newer":{"a":[1,{}]}}}`: nil,
		`{"choice":{"newer":1,"number":2}}`:  &hello.ChoiceNumber{Number: 2},
		`{"choice":{"NUMBER":2}}`:            &hello.ChoiceNumber{Number: 2},
		`{"choice":{"text":null}}`:           &hello.ChoiceText{},
		`{"choice":{"text":"a","text":"b"}}`: &hello.ChoiceText{Text: "b"},
	} {
		x := hello.Everything{}
		if err := json.Unmarshal([]byte(text), &x); err != nil || !reflect.DeepEqual(x.Choice, want) {
			t.Errorf("%s: %#v, %v; want %#v", text, x.Choice, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"choice":{"number":1,"text":"a"}}`:          "json: Everything.choice: a union has one member, not number and text, at 22",
		`{"choice":{"number":1,"TEXT":"a"}}`:          "a union has one member, not number and text, at 22",
		`{"choices":[{"number":"1"}]}`:                `json: Everything.choices[].number: the string "1" where a whole number of 32 bits is expected at 22`,
		`{"choice":5}`:                                "json: Everything.choice: the number 5 where an object is expected at 10",
		`{"choice":{"again":{"points":[{"x":1.5}]}}}`: "json: Everything.choice.again.points[].x: the number 1.5 where",
	} {
		if err := json.Unmarshal([]byte(text), new(hello.Everything)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestEnumText(t *testing.T) {
	for text, c := range map[string]struct {
		want hello.Color
		err  string
	}{
		"RED":         {hello.ColorRED, ""},
		"dark":        {hello.ColorDark, ""},
		"TEAL":        {hello.ColorGREEN, ""},
		"2":           {hello.ColorBLUE, ""},
		"-1":          {hello.ColorDark, ""},
		"77":          {77, ""},
		"-2147483648": {-1 << 31, ""},
		"2147483648":  {0, `"2147483648" is no Color`},
		"red":         {0, `"red" is no Color`},
		"":            {0, `"" is no Color`},
		"Color(77)":   {0, `"Color(77)" is no Color`},
	} {
		var got hello.Color
		err := got.UnmarshalText([]byte(text))
		if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) || got != c.want {
			t.Errorf("%q: %v, %v; want %v, %s", text, got, err, c.want, c.err)
			continue
		}
		if c.err != "" {
			continue
		}
		p, err := got.MarshalText()
		var back hello.Color
		if err != nil || back.UnmarshalText(p) != nil || back != got {
			t.Errorf("%q: %d as text is %q, %v, which is %d", text, got, p, err, back)
		}
	}
}

// The code in docs/how/gen.md is what is generated: each stretch of it that is not left
// out stands in a file of today's.
func TestDocsAreTrue(t *testing.T) {
	doc, err := os.ReadFile("../docs/how/gen.md")
	if err != nil {
		t.Fatal(err)
	}
	var golden strings.Builder
	for _, name := range []string{"golden/demo/hello/hello.thrift.go", "golden/demo/hello/hello.thrift.codec.go", "goldenproto/doc/doc.proto.go"} {
		p, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		golden.Write(p)
	}
	stretches := 0
	for _, block := range strings.Split(string(doc), "```go\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for stretch := range strings.SplitSeq(block, "\t…\n") {
			stretches++
			if !strings.Contains(golden.String(), strings.TrimSpace(stretch)) {
				t.Errorf("nothing like this is generated:\n%s", stretch)
			}
		}
	}
	if stretches < 5 {
		t.Errorf("only %d stretches of code were found", stretches)
	}
}
