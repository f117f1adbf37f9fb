package stub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/rpc/stub"
)

type (
	mixed struct {
		Flag   bool             `json:"flag"`
		Small  int8             `json:"small,omitempty"`
		Large  int64            `json:"large"`
		Unsign uint16           `json:"unsign"`
		Ratio  float64          `json:"ratio"`
		Text   string           `json:"text"`
		Raw    []byte           `json:"raw"`
		List   []*inner         `json:"list"`
		Byname map[string]inner `json:"byname"`
		Bynum  map[int8][]int32 `json:"bynum"`
		Maybe  *string          `json:"maybe"`
		When   time.Time        `json:"when"`
		Quoted int32            `json:"quoted,string"`
		Own    own              `json:"own"`
		Left   int              `json:"-"`
		//lint:ignore SA5008 a name that encoding/json takes
		Dash    int `json:"-,"`
		Untaged int
		//lint:ignore U1000 a field that is passed over
		hidden int
	}
	inner struct {
		N    int32  `json:"n"`
		Next *inner `json:"next,omitempty"`
	}
	own string // reads itself
)

func (o *own) UnmarshalJSON(b []byte) error {
	if string(b) == `"bad"` {
		return errors.New("own refuses it")
	}
	*o = own(b)
	return nil
}

var mixedTexts = []string{
	`{"flag":true,"small":-128,"large":9223372036854775807,"unsign":65535,"ratio":-1.5e-7,"text":"a\u00e9\ud83d\ude00\"","raw":"AQID"}`,
	`{"list":[{"n":1,"next":{"n":2}},null,{}],"byname":{"a":{"n":1},"":{}},"bynum":{"-5":[1,2],"7":null},"maybe":"","when":"2026-11-22T10:00:00Z"}`,
	` { "quoted" : "12" , "own" : { "a" : [ 1 , "}" ] } , "-" : 4 , "UNTAGED" : 1 , "Left" : 3 , "hidden" : 2 , "unknown" : [{}, [], "x", 1.5, null] } `,
	`{"flag":null,"small":null,"text":null,"raw":null,"list":null,"byname":null,"maybe":null,"when":null,"own":null}`,
	`{"maybe":nnull}`, `{"list":[nnull]}`, `{"list":[],"byname":{},"bynum":{},"raw":""}`, `{"TEXT":"A","text":"b","Text":"c"}`, `{}`, `null`,
}

// The reader does to types without unions what encoding/json does: of these texts, and of
// each with a byte changed, which of them are read, and to what.
func TestUnmarshalJSONIsLikeEncodingJSON(t *testing.T) {
	same := func(text []byte) {
		t.Helper()
		var ours, theirs mixed
		err, want := stub.UnmarshalJSON(&ours, text), json.Unmarshal(text, &theirs)
		if (err == nil) != (want == nil) {
			t.Fatalf("%s: %v; encoding/json says %v", text, err, want)
		}
		if err == nil && !reflect.DeepEqual(ours, theirs) {
			t.Fatalf("%s:\n got %+v\nwant %+v", text, ours, theirs)
		}
	}
	r := rand.New(rand.NewPCG(5, 3))
	const bytesOfJSON = `{}[],:"\ 0123456789-+.eEtruefalsn/bu`
	for _, text := range mixedTexts {
		same([]byte(text))
		for i := range text {
			same([]byte(text[:i]))
		}
		for range 3000 {
			b := []byte(text)
			b[r.IntN(len(b))] = bytesOfJSON[r.IntN(len(bytesOfJSON))]
			same(b)
		}
	}
}

// What a message has and the text does not stays, in maps too.
func TestUnmarshalJSONKeeps(t *testing.T) {
	x := mixed{Text: "stays", Byname: map[string]inner{"a": {N: 1}, "b": {N: 2}}, List: []*inner{{N: 1}}, Maybe: new("x")}
	if err := stub.UnmarshalJSON(&x, []byte(`{"byname":{"b":{"n":3}},"list":[{}],"maybe":"y"}`)); err != nil ||
		x.Text != "stays" || len(x.Byname) != 2 || x.Byname["b"].N != 3 || x.List[0].N != 0 || *x.Maybe != "y" {
		t.Errorf("%+v, %v", x, err)
	}
}

// A struct with many fields has them found as one with few: by name, else in any case.
func TestUnmarshalJSONOfManyFields(t *testing.T) {
	for _, n := range []int{4, 60} {
		fields := make([]reflect.StructField, n)
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf(`json:"kas%d"`, i))}
		}
		fields[1].Tag, fields[2].Tag = `json:"Kas3"`, `json:"été"`
		typ := reflect.StructOf(fields)
		for _, name := range []string{"kas0", "KAS0", "\u212aas0", "Ka\u017f0", "kas3", "Kas3", "KAS3", "ÉTÉ", "Été", "ete", "kas", "", strings.Repeat("kas", 40)} {
			text := []byte(`{"` + name + `":7}`)
			got, want := reflect.New(typ), reflect.New(typ)
			if err := stub.UnmarshalJSON(got.Interface(), text); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, want.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Errorf("%s of %d fields: %v; want %v", text, n, got, want)
			}
		}
	}
}

type (
	either interface {
		isUnion(*eitherLarge, *eitherSmall)
	}

	eitherLarge struct {
		Card string `json:"Card"`
	}
	eitherSmall struct {
		Card int `json:"card"`
	}
	holder struct {
		Either either `json:"either"`
	}
)

func (*eitherLarge) isUnion(*eitherLarge, *eitherSmall) {}
func (*eitherSmall) isUnion(*eitherLarge, *eitherSmall) {}

// Of two variants whose names differ by case alone, the one that is written is meant.
func TestUnmarshalJSONOfVariantsInAnyCase(t *testing.T) {
	for text, want := range map[string]either{
		`{"either":{"Card":"a"}}`: &eitherLarge{"a"}, `{"either":{"card":5}}`: &eitherSmall{5}, `{"either":{"CARD":"a"}}`: &eitherLarge{"a"}, `{"either":{"x":[]}}`: nil,
	} {
		var got holder
		if err := stub.UnmarshalJSON(&got, []byte(text)); err != nil || !reflect.DeepEqual(got.Either, want) {
			t.Errorf("%s: %v, %v; want %v", text, got.Either, err, want)
		}
	}
	if err := stub.UnmarshalJSON(new(holder), []byte(`{"either":{"Card":"a","card":5}}`)); err == nil || !strings.Contains(err.Error(), "a union has one member, not Card and card") {
		t.Error(err)
	}
}

func TestUnmarshalJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"small":128}`:               "json: mixed.small: the number 128 where a whole number of 8 bits is expected at 9",
		`{"unsign":-1}`:               "mixed.unsign: the number -1 where a whole number of 16 bits that is not below 0 is expected at 10",
		`{"list":[{"n":1},{"n":{}}]}`: "json: mixed.list[].n: an object where a whole number of 32 bits is expected at 22",
		`{"list":{}}`:                 "mixed.list: an object where an array is expected at 8",
		`{"bynum":{"300":[]}}`:        "mixed.bynum: the number 300 where a whole number of 8 bits is expected at 10",
		`{"raw":"a"}`:                 `mixed.raw: the string "a" where base64 in a string is expected at 7`,
		`{"own":"bad"}`:               "json: mixed.own: own refuses it at 7",
		`{"when":5}`:                  "json: mixed.when",
		`{"quoted":"x"}`:              `json: mixed.quoted: the string "x" does not hold its value at 10`,
		"{} \x00":                     "json: more after the end at 3",
		`{} {}`:                       "json: more after the end at 3",
		`{"flag":`:                    "json: the JSON ends too early at 8",
		`[]`:                          "json: mixed: an array where an object is expected at 0",
	} {
		if err := stub.UnmarshalJSON(new(mixed), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// A text nests no deeper than encoding/json has it, in what is read and in what is not.
func TestUnmarshalJSONDepth(t *testing.T) {
	for name, text := range map[string]string{
		"read":   strings.Repeat(`{"next":`, 20_000) + `{}` + strings.Repeat(`}`, 20_000),
		"passed": `{"x":` + strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000) + `}`,
	} {
		if err := stub.UnmarshalJSON(new(inner), []byte(text)); err == nil || !strings.Contains(err.Error(), "nests too deeply") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, text := range mixedTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var ours, theirs mixed
		err, want := stub.UnmarshalJSON(&ours, text), json.Unmarshal(text, &theirs)
		if (err == nil) != (want == nil) || err == nil && !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%q: %+v, %v\nencoding/json: %+v, %v", text, ours, err, theirs, want)
		}
	})
}

// A text costs its size, however deep it nests: a path that was made for each value made
// gigabytes of 100 KB. Of a long path an error tells both ends.
func TestDeepJSON(t *testing.T) {
	type node struct {
		Kids []*node `json:"kids"`
		V    int32   `json:"v"`
	}
	const deep, wide = 4900, 10_000
	text := func(last string) []byte {
		return []byte(strings.Repeat(`{"kids":[`, deep) + `{` + strings.Repeat(`"v":1,`, wide) + `"v":` + last + `}` + strings.Repeat(`]}`, deep))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var n node
	if err := stub.UnmarshalJSON(&n, text("7")); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("%d bytes of JSON take %d", len(text("7")), took)
	}
	leaf := &n
	for leaf.Kids != nil {
		leaf = leaf.Kids[0]
	}
	if leaf.V != 7 {
		t.Error(leaf.V)
	}
	err := stub.UnmarshalJSON(&n, text("true"))
	if err == nil || !strings.HasPrefix(err.Error(), "json: node.kids[].kids") || len(err.Error()) > 300 || !strings.Contains(err.Error(), ".kids[].v: true where") {
		t.Errorf("%v", err)
	}
}
