package gen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// Constants that are made of each other many times are looked into once.
func TestDefaultsFanOut(t *testing.T) {
	var b strings.Builder
	b.WriteString("struct Leaf { 1: i32 n = 1 }\nconst list<Leaf> C0 = [{}]\n")
	const height, width, fields = 12, 10, 20
	typ := "list<Leaf>"
	for i := range height {
		typ = "list<" + typ + ">"
		fmt.Fprintf(&b, "const %s C%d = [%s]\n", typ, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("C%d, ", i), width), ", "))
	}
	b.WriteString("struct S {\n")
	for i := range fields {
		fmt.Fprintf(&b, "%d: %s f%[1]d = C%[3]d\n", i+1, typ, height)
	}
	b.WriteString("}")
	s := load(t, map[string]string{"a.thrift": b.String()}, "a.thrift")
	w := newDefaultWalk(&generator{})
	for _, d := range s.Files[0].Structs {
		w.structure(d)
	}
	if most := fields + height*(width+2) + 10; w.steps > most || w.steps < height*width {
		t.Errorf("%d values were looked at, want at most %d", w.steps, most)
	}
	files, err := Config{}.Generate(s)
	if err != nil || len(files[0].Content)+len(files[1].Content) > 20*b.Len() {
		t.Errorf("%v; %d bytes of Go for %d of IDL", err, len(files[0].Content)+len(files[1].Content), b.Len())
	}
}

// A circle is found however many constants it goes through, and told once.
func TestDefaultCycles(t *testing.T) {
	var b strings.Builder
	b.WriteString("struct A { 1: i32 x, 2: list<A> a = C40, 3: list<A> b = C40, 4: B c = {} }\nstruct B { 1: list<A> d = [{}] }\nconst list<A> C0 = [{}]\n")
	for i := range 40 {
		fmt.Fprintf(&b, "const list<A> C%d = C%d\n", i+1, i)
	}
	_, err := Config{}.Generate(load(t, map[string]string{"a.thrift": b.String()}, "a.thrift"))
	errs, ok := err.(idl.Errors)
	if !ok || len(errs) != 1 || errs[0].Head() != "a.thrift:1:8: the defaults of A need a A: making one would never end" {
		t.Errorf("%v", err)
	}
}

// What the Go compiler would never get done with is refused.
func TestTypedefParts(t *testing.T) {
	var b strings.Builder
	b.WriteString("typedef i32 T0\n")
	for i := range 100 {
		fmt.Fprintf(&b, "typedef map<T%d, T%[1]d> T%d\n", i, i+1)
	}
	_, err := Config{}.Generate(load(t, map[string]string{"a.thrift": b.String()}, "a.thrift"))
	if err == nil || !strings.HasPrefix(err.Error(), "a.thrift:13:23: typedef T12 stands for more than 4096 types") {
		t.Errorf("%v", err)
	}
}
