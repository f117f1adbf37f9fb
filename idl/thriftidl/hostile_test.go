package thriftidl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/idl"
)

// A hostile file must not cost more than its size.
func TestHostile(t *testing.T) {
	var chain, consts, bomb strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&chain, "typedef T%d T%d\n", i+1, i)
		fmt.Fprintf(&consts, "const i32 C%d = C%d\n", i, i+1)
	}
	for i := range 40 {
		fmt.Fprintf(&bomb, "const %si32%s B%d = [B%d, B%d]\n", strings.Repeat("list<", i+1), strings.Repeat(">", i+1), i+1, i, i)
	}
	for name, text := range map[string]string{
		"typedefs": chain.String() + "typedef i32 T3000",
		"consts":   consts.String() + "const i32 C3000 = 1",
		"bomb":     "const i32 B0 = 1\n" + bomb.String(),
	} {
		_, err := load(map[string]string{"a.thrift": text}, "a.thrift")
		if (err == nil) != (name == "bomb") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Looking names up must not take time in proportion to how many there are: each
// of these files took minutes, and takes a fraction of a second.
func TestHostileNames(t *testing.T) {
	const n = 50_000
	lines := func(head, line, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String() + tail
	}
	for name, c := range map[string]struct{ text, want string }{
		"enum":    {lines("enum E {\n", "V%d\n", "}\n") + lines("", "const E C%d = E.V49999\n", ""), ""},
		"numbers": {lines("enum E {\n", "V%d\n", "}\n") + lines("", "const E C%d = 49999\n", ""), ""},
		"methods": {lines("service A {\n", "void a%d()\n", "}\n") + lines("service B extends A {\n", "void b%d()\n", "}\n"), ""},
		"chain":   {"service A0 {}\n" + lines("", "service B%d extends A0 {}\n", "") + chainOf(300), "a.thrift:50258:22: service A257 extends more than 256 others"},
		"upward":  {chainUp(300) + "service A0 {}", "service A300 extends more than 256 others"},
	} {
		start := time.Now()
		_, err := load(map[string]string{"a.thrift": c.text}, "a.thrift")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// TestHostileIncludes has as many includes as names that are looked for in them: of one
// file, which took most of a minute, and of one name.
func TestHostileIncludes(t *testing.T) {
	const n = 20_000
	var b strings.Builder
	for range n {
		b.WriteString("include \"x/o.thrift\"\n")
	}
	b.WriteString("include \"y/o.thrift\"\n")
	for i := range n {
		fmt.Fprintf(&b, "const o.I C%d = o.X\ntypedef o.J T%[1]d\nservice S%[1]d extends o.S {}\n", i)
	}
	start := time.Now()
	s, err := load(map[string]string{
		"a.thrift":   b.String(),
		"x/o.thrift": "typedef i32 I\nconst i32 X = 7\nservice S {}",
		"y/o.thrift": "typedef string J\nconst i32 Y = 8",
	}, "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Files[len(s.Files)-1]; f.Consts[n-1].Value.Const.Value.Int != 7 || f.Typedefs[n-1].Type.True().Kind != idl.String {
		t.Error("names are other ones")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}

// Many files of one name, and names that one of them has, which are looked for as often: with
// 4,000 it took twelve seconds.
func TestManyIncludesOfOneName(t *testing.T) {
	const n = 3000
	var b, refs, values strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "#file d%d/a.thrift\nstruct X%[1]d{}\nconst i32 C%[1]d=%[1]d\nenum E%[1]d{V=%[1]d}\nservice S%[1]d{}\n", i)
		fmt.Fprintf(&refs, "include\"d%d/a.thrift\"\n", i)
	}
	for i := range n {
		fmt.Fprintf(&values, "const i32 A%d=a.C%[1]d\nconst i32 B%[1]d=a.E%[1]d.V\ntypedef a.X%[1]d T%[1]d\nservice R%[1]d extends a.S%[1]d{}\n", i)
	}
	packed := b.String() + "#file main.thrift\n" + refs.String() + values.String()
	s, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	f := s.Files[len(s.Files)-1]
	for i := range n {
		if a, b := f.Consts[2*i].Value, f.Consts[2*i+1].Value; a.Const == nil || a.Const.Value.Int != int64(i) || b.EnumValue == nil || int(b.EnumValue.Value) != i ||
			f.Typedefs[i].Type.True().Struct.Name != fmt.Sprint("X", i) || f.Services[i].Parent.Name != fmt.Sprint("S", i) {
			t.Fatalf("names of file %d are other ones", i)
		}
	}
	_, err = Unpack(packed + "const i32 NONE = a.GONE\n")
	if err == nil || !strings.Contains(err.Error(), "no constant or enum value is named a.GONE") {
		t.Error(err)
	}
	_, err = Unpack(strings.Replace(packed, "const i32 C7=7\n", "const i32 C7=7\nconst i32 C9=8\nstruct X9{}\n", 1))
	if err == nil || !strings.Contains(err.Error(), "a.X9 is in d7/a.thrift and in d9/a.thrift, which are included under one name") {
		t.Error(err)
	}
	_, err = Unpack(strings.Replace(packed, "const i32 C7=7\n", "const i32 C7=7\nconst i32 C9=8\n", 1))
	if err == nil || !strings.Contains(err.Error(), "A9: a.C9 is in d7/a.thrift and in d9/a.thrift, which are included under one name") {
		t.Error(err)
	}
}

// chainOf writes services that extend each other, each after its parent;
// chainUp before it.
func chainOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "service A%d extends A%d {}\n", i+1, i)
	}
	return b.String()
}

func chainUp(n int) string {
	var b strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, "service A%d extends A%d {}\n", i, i-1)
	}
	return b.String()
}

// Each way in which something may nest or lead on has a bound: one less is taken,
// one more is an error with a place, and neither costs the stack.
func TestDepths(t *testing.T) {
	nested := func(open, in, shut string) func(int) string {
		return func(n int) string { return strings.Repeat(open, n) + in + strings.Repeat(shut, n) }
	}
	types, lists, maps := nested("list<", "i8", ">"), nested("[", "", "]"), nested("{1:", "1", "}")
	chain := func(format, last string) func(int) string {
		return func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, format, i, i+1)
			}
			return b.String() + fmt.Sprintf(last, n)
		}
	}
	for name, c := range map[string]struct {
		text func(n int) string
		most int
		want string
	}{
		"types":               {func(n int) string { return "struct S { 1: " + types(n) + " a }" }, maxDepth - 2, "nested deeper than 64 levels"},
		"types of constants":  {func(n int) string { return "const list<" + types(n) + "> C = []" }, maxDepth - 2, "nested deeper than 64 levels"},
		"lists":               {func(n int) string { return "typedef list<L> L const i8 C = " + lists(n) }, maxDepth, ""},
		"maps":                {func(n int) string { return "const i8 C = " + maps(n) }, maxDepth - 1, ""},
		"attributes":          {func(n int) string { return "struct S { " + nested("1: i8 a xsd_attrs { ", "", "}")(n) + "}" }, maxDepth - 1, "nested deeper than 64 levels"},
		"typedefs":            {chain("typedef T%[2]d T%[1]d\n", "typedef i8 T%d"), idl.MaxChain - 1, "leads through more than 256 others"},
		"typedefs, backwards": {func(n int) string { return "typedef i8 T0\n" + chain("typedef T%d T%d\n", "// %d")(n) }, idl.MaxChain - 1, "leads through more than 256 others"},
		"typedefs of lists":   {chain("typedef list<T%[2]d> T%[1]d\n", "typedef i8 T%d"), idl.MaxChain - 1, "leads through more than 256 others"},
		"constants":           {chain("const i8 C%d = C%d\n", "const i8 C%d = 1"), idl.MaxChain, ""},
		"lists of constants": {func(n int) string {
			return "struct S { 1: list<S> s }\n" + chain("const list<S> C%d = [{'s': C%d}]\n", "const list<S> C%d = []")(n)
		}, idl.MaxChain, "is used through more than 256 others"},
		"parents": {func(n int) string { return "service A0 {}\n" + chainOf(n) }, idl.MaxChain, "extends more than 256 others"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, c.most, c.most + 1, 20 * c.most} {
				s, err := load(map[string]string{"a.thrift": c.text(n)}, "a.thrift")
				if (s == nil) == (err == nil) {
					t.Fatalf("%d: neither a schema nor an error, or both", n)
				}
				if c.want == "" { // it is an error for another reason, or none at all
					continue
				}
				if n <= c.most && err != nil || n > c.most && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%d: %.200v; want an error from %d on: %s", n, err, c.most+1, c.want)
				}
			}
		})
	}
}

// A list of more fields without ids than there are numbers for them.
func TestTooManyFields(t *testing.T) {
	var b strings.Builder
	b.WriteString("struct S {\n")
	for i := range 1<<15 + 1 {
		fmt.Fprintf(&b, "i8 f%d\n", i)
	}
	b.WriteString("}")
	_, err := load(map[string]string{"a.thrift": b.String()}, "a.thrift")
	if err == nil || !strings.HasPrefix(err.Error(), "a.thrift:32770:1: too many fields without an id") {
		t.Errorf("%v", err)
	}
}

// Bytes of a file that covers the grammar replaced, and left out, one at a time:
// there is a schema, or an error with a place, and never both.
func TestEveryByte(t *testing.T) {
	text, shared := grammar(t)
	step := 3
	if testing.Short() {
		step = 11
	}
	for i := 0; i < len(text); i += step {
		for _, by := range []string{"", "\x00", "{", "\"", "/", "1"} {
			changed := text[:i] + by + text[i+1:]
			s, err := load(map[string]string{"a.thrift": changed, "shared.thrift": shared}, "a.thrift")
			errs, ok := err.(idl.Errors)
			if (s == nil) == (err == nil) || err != nil && (!ok || errs[0].Pos.Line == 0 && errs[0].Err == nil) {
				t.Fatalf("byte %d replaced by %q: %v, %v", i, by, s, err)
			}
		}
	}
}

// TestHostilePacked has what a server may tell whoever asks it for its IDL: each text took
// seconds for a few hundred KB, and hours for as much as a message may have.
func TestHostilePacked(t *testing.T) {
	numbered := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i, i+1)
		}
		return b.String()
	}
	long := strings.Repeat("n", 200_000)
	for name, c := range map[string]struct{ text, want string }{
		"many includes of a deep file": {numbered(250, "#file f%d\ninclude \"f%d\"\n") + "#file f250\n" +
			strings.Repeat("include\"z\"\n", 10_000) + "#file z\n", ""},
		"includes of a long name": {"#file " + strings.Repeat("a/", 200_000) + "f\n" + strings.Repeat("include\"z\"\n", 1000) + "#file z\n",
			`idl: "a/a/a/`},
		"a name of many dots": {numbered(12, "#file x%d\n//%d\n") + "#file y\n" + numbered(12, "include \"x%d\"\n//%d\n") +
			"const i32 C = " + strings.Repeat("a.", 150_000) + "b\n", "y:25:15: a name of 300001 bytes; 1024 are allowed"},
		"a long field around many": {"#file a\nstruct T { 1: i8 a }\nstruct S { 1: list<T> " + long + "}\n" +
			"const S C = {\"" + long + "\": [" + strings.Repeat("{\"a\":1},", 25_000) + "]}\n", "a:2:23: a name of 200000 bytes; 1024 are allowed"},
		"long fields around many": {"#file a\nstruct S { 1: S " + long[:1000] + ", 2: list<S> s, 3: i8 a }\n" +
			"const S C = " + strings.Repeat("{\""+long[:1000]+"\": ", 60) + "{\"s\": [" + strings.Repeat("{\"a\":1},", 200_000) + "]}" + strings.Repeat("}", 60) + "\n", ""},
	} {
		start := time.Now()
		_, err := Unpack(c.text)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v; want %s", name, err, c.want)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: %v for %d bytes", name, took, len(c.text))
		}
	}
}

// The name of a value in an error is long enough to find it.
func TestLongNamesOfValues(t *testing.T) {
	name := strings.Repeat("n", 200)
	_, err := load(map[string]string{"a.thrift": "struct S { 1: S " + name + ", 2: i8 a }\nconst S C = " +
		strings.Repeat("{\""+name+"\": ", 3) + "{\"a\": 1000}}}}"}, "a.thrift")
	if want := "C." + name + "." + name + " is of type i8: 1000 does not fit"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}
