package tjson_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// What is taken of a text that was changed is a message: it is written and read again as
// what it was. The rest is refused, with an offset in the text.
func TestJSONThatWasChanged(t *testing.T) {
	taken := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		msg := new(thrifttest.Everything)
		(&thrifttest.Filler{Rand: r}).Fill(reflect.ValueOf(msg).Elem(), true, false)
		text := []byte(jsonOf(t, msg))
		for range 60 {
			at := r.IntN(len(text))
			was := text[at]
			text[at] = `{}[],:"\0123456789-+.eEtfi8ru`[r.IntN(29)]
			var got, again thrifttest.Everything
			err := fromJSON(string(text), &got)
			text[at] = was
			if err != nil {
				continue
			}
			taken++
			if thrift.Validate(&got) != nil {
				continue // a union in a list of a variant that is not known any more
			}
			if err := fromJSON(jsonOf(t, &got), &again); err != nil || !thrift.Equal(&got, &again) {
				t.Fatalf("seed %d, byte %d: %v\n%.1500v\n%.1500v", seed, at, err, thrift.String(&got), thrift.String(&again))
			}
		}
	}
	if taken < 100 {
		t.Errorf("of 2,400 texts only %d were taken", taken)
	}
}

// The limits of each number are taken, bare and in quotes, and one beyond them is not.
func TestJSONNumberLimits(t *testing.T) {
	type numbers struct {
		I8  int8    `thrift:"i8,1"`
		I16 int16   `thrift:"i16,2"`
		I32 int32   `thrift:"i32,3"`
		I64 int64   `thrift:"i64,4"`
		F   float64 `thrift:"f,5"`
	}
	for _, c := range []struct {
		id              int
		typ             string
		least, most     string
		beneath, beyond string
	}{
		{1, "i8", "-128", "127", "-129", "128"},
		{2, "i16", "-32768", "32767", "-32769", "32768"},
		{3, "i32", "-2147483648", "2147483647", "-2147483649", "2147483648"},
		{4, "i64", "-9223372036854775808", "9223372036854775807", "-9223372036854775809", "9223372036854775808"},
		{5, "dbl", "-1.7976931348623157e308", "1.7976931348623157e308", "-1.8e308", "1.8e308"},
	} {
		for _, form := range []string{`{"%d":{"%s":%s}}`, `{"%d":{"%s":"%s"}}`, ` { "%d" : { "%s" : %s } } `} {
			for _, n := range []string{c.least, c.most, "0", "-0"} {
				text := fmt.Sprintf(form, c.id, c.typ, n)
				var got, again numbers
				if err := fromJSON(text, &got); err != nil {
					t.Errorf("%s: %v", text, err)
				}
				if err := fromJSON(jsonOf(t, &got), &again); err != nil || got != again || n == c.most && got == (numbers{}) {
					t.Errorf("%s: %+v became %+v, %v", text, got, again, err)
				}
			}
			for _, n := range []string{c.beneath, c.beyond, "", "-", "--1", "1-", "1e", "e1", "0x1", "0x1p3", "1_0", "inf", "nan"} {
				text := fmt.Sprintf(form, c.id, c.typ, n)
				if err := fromJSON(text, new(numbers)); err == nil {
					t.Errorf("%s is taken", text)
				}
			}
		}
	}
	var x numbers
	if err := fromJSON(`{"5":{"dbl":"-0"}}`, &x); err != nil || !math.Signbit(x.F) {
		t.Errorf("-0 is %v, %v", x.F, err)
	}
}

// A key that comes twice is there twice in Pairs, and once in a map, with the last value.
// Keys may be structs, lists and numbers.
func TestJSONKeys(t *testing.T) {
	type keyed struct {
		Map   map[int32]string                       `thrift:"map,1"`
		Pairs thrift.Pairs[*thrifttest.Leaf, string] `thrift:"pairs,2"`
		Lists thrift.Pairs[[]int32, bool]            `thrift:"lists,3"`
		F     map[float64]int8                       `thrift:"f,4"`
	}
	text := `{"1":{"map":["i32","str",2,{"7":"a","7":"b"}]},` +
		`"2":{"map":["rec","str",2,{{"1":{"i64":1}}:"a",{"1":{"i64":1}}:"b"}]},` +
		`"3":{"map":["lst","tf",1,{["i32",2,1,2]:1}]},"4":{"map":["dbl","i8",2,{"NaN":1,"-1.5":2}]}}`
	var got keyed
	if err := fromJSON(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Map) != 1 || got.Map[7] != "b" || len(got.Pairs) != 2 || got.Pairs[0].Value != "a" || got.Pairs[1].Key.ID != 1 || len(got.F) != 2 || got.F[-1.5] != 2 {
		t.Errorf("%+v", got)
	}
	if len(got.Lists) != 1 || !reflect.DeepEqual(got.Lists[0].Key, []int32{1, 2}) || !got.Lists[0].Value {
		t.Errorf("%+v", got.Lists)
	}
	var again keyed
	if err := fromJSON(jsonOf(t, &got), &again); err != nil || !thrift.Equal(&got, &again) {
		t.Errorf("%+v, %v", again, err)
	}
	for _, bad := range []string{`{"1":{"map":["i32","str",1,{7:}]}}`, `{"2":{"map":["rec","str",1,{"x":"a"}]}}`, `{"3":{"map":["lst","tf",1,{[]:1}]}}`} {
		if err := fromJSON(bad, new(keyed)); err == nil || !strings.Contains(err.Error(), "keyed.") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
