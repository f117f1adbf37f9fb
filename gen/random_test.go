package gen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRandom compiles what is generated from random IDLs: three files that
// include each other, with names that clash and values of every type.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: compiling takes a while")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work := module(t, root)
	for seed := range uint64(24) {
		dir := filepath.Join(work, fmt.Sprintf("r%d", seed))
		w := world{r: rand.New(rand.NewPCG(seed, 1))}
		for i := range 3 {
			put(t, filepath.Join(dir, fmt.Sprintf("f%d.thrift", i)), w.file(i))
		}
		if code, _, stderr := run(work, "-q", "-out", dir, dir); code != 0 {
			t.Fatalf("seed %d: exit %d\n%s", seed, code, stderr)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "./...")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%s", err, out)
	}
}

// words are names that mean something in Go or in generated code.
var words = strings.Fields(`a c x id url get type func error Error New Client Service result args ctx err user_id userId
	User_Id foo Foo bar Close nil rpc thrift context fmt SetDefaults success`)

// A drawn is a type that a random file may name, and how to write a value of it.
type drawn struct {
	name  string
	value func(depth int) string
}

// world writes random files; later ones may use what earlier ones define.
type world struct {
	r        *rand.Rand
	types    []drawn  // of this file, and qualified ones of those before
	services []string // qualified, of the files before
	shared   []drawn  // definitions for the files after
	names    map[string]bool
}

func (w *world) pick(list []string) string { return list[w.r.IntN(len(list))] }
func (w *world) chance(percent int) bool   { return w.r.IntN(100) < percent }

func (w *world) some(most int) []string {
	n := w.r.IntN(most + 1)
	var list []string
	for _, i := range w.r.Perm(len(words))[:n] {
		list = append(list, words[i])
	}
	return list
}

func (w *world) fresh() string {
	for {
		name := w.pick(words) + w.pick([]string{"", "1", "_2", "_"})
		if !w.names[name] {
			w.names[name] = true
			return name
		}
	}
}

var plainTypes = []drawn{
	{"bool", nil}, {"i8", nil}, {"i16", nil}, {"i32", nil}, {"i64", nil}, {"double", nil}, {"string", nil}, {"binary", nil}, {"uuid", nil},
}

var plainValues = map[string][]string{
	"bool": {"true", "0"}, "i8": {"-128", "7"}, "i16": {"0x7f"}, "i32": {"-3"}, "i64": {"1"}, "double": {"1", "-2.5e3"},
	"string": {`"a\"b"`, `'c'`}, "binary": {`"x"`}, "uuid": {`"00112233-4455-6677-8899-aabbccddeeff"`},
}

func (w *world) typ(depth int) drawn {
	switch n := w.r.IntN(100); {
	case n < 35 || depth > 3:
		d := plainTypes[w.r.IntN(len(plainTypes))]
		d.value = func(int) string { return w.pick(plainValues[d.name]) }
		return d
	case n < 65 && len(w.types) > 0:
		return w.types[w.r.IntN(len(w.types))]
	case n < 85:
		elem := w.typ(depth + 1)
		return drawn{w.pick([]string{"list<", "set<"}) + elem.name + ">", func(d int) string {
			if d > 2 || w.chance(30) {
				return "[]"
			}
			return "[" + elem.value(d+1) + ", " + elem.value(d+1) + "]"
		}}
	}
	key, elem := w.typ(depth+1), w.typ(depth+1)
	return drawn{"map<" + key.name + ", " + elem.name + ">", func(d int) string {
		if d > 2 || w.chance(40) {
			return "{}"
		}
		return "{" + key.value(d+1) + ": " + elem.value(d+1) + "}"
	}}
}

func (w *world) file(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace go %s%d\n", w.pick([]string{"p", "q.r", "x", "args", "errors", "Err"}), i)
	for j := range i {
		fmt.Fprintf(&b, "include \"f%d.thrift\"\n", j)
	}
	w.names, w.types = map[string]bool{}, append([]drawn(nil), w.shared...)
	var exceptions []string
	for range 4 + w.r.IntN(8) {
		name, typ := w.fresh(), w.typ(0)
		switch w.r.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "const %s %s = %s\n", typ.name, name, typ.value(0))
		case 1:
			fmt.Fprintf(&b, "typedef %s %s\n", typ.name, name)
			w.types = append(w.types, drawn{name, typ.value})
		case 2:
			values := append(w.some(3), "LAST")
			fmt.Fprintf(&b, "enum %s { %s }\n", name, strings.Join(values, ", "))
			value := func(int) string { return fmt.Sprint(w.r.IntN(len(values))) }
			w.types = append(w.types, drawn{name, value})
			w.shared = append(w.shared, drawn{fmt.Sprintf("f%d.%s", i, name), value})
		default:
			kind := w.pick([]string{"struct", "struct", "union", "exception"})
			if kind == "exception" {
				exceptions = append(exceptions, name)
			}
			d := drawn{name, w.fields(&b, kind, name)}
			w.types = append(w.types, d)
			w.shared = append(w.shared, drawn{fmt.Sprintf("f%d.%s", i, name), d.value})
		}
	}
	for range w.r.IntN(3) {
		w.service(&b, i, exceptions)
	}
	return b.String()
}

// fields writes a composite type and gives how to write a value of it.
func (w *world) fields(b *strings.Builder, kind, name string) func(int) string {
	names := w.some(5)
	fmt.Fprintf(b, "%s %s {\n", kind, name)
	values := map[string]drawn{}
	for i, f := range names {
		typ, need, def := w.typ(0), "", ""
		if kind != "union" {
			need = w.pick([]string{"", "required ", "optional "})
			if w.chance(35) {
				def = " = " + typ.value(0)
			}
		}
		fmt.Fprintf(b, "  %d: %s%s %s%s\n", i+1, need, typ.name, f, def)
		values[f] = typ
	}
	b.WriteString("}\n")
	return func(d int) string {
		if d > 2 || len(names) == 0 || w.chance(30) {
			return "{}"
		}
		f := w.pick(names)
		return fmt.Sprintf("{%q: %s}", f, values[f].value(d+1))
	}
}

func (w *world) service(b *strings.Builder, i int, exceptions []string) {
	name, extends := w.fresh(), ""
	if len(w.services) > 0 && w.chance(50) {
		extends = " extends " + w.pick(w.services)
		if strings.HasPrefix(extends, fmt.Sprintf(" extends f%d.", i)) {
			extends = ""
		}
	}
	fmt.Fprintf(b, "service %s%s {\n", name, extends)
	for _, m := range w.some(4) {
		var args []string
		for k, a := range w.some(3) {
			args = append(args, fmt.Sprintf("%d: %s %s", k+1, w.typ(0).name, a))
		}
		throws, result := "", "void"
		if w.chance(70) {
			result = w.typ(0).name
		}
		if len(exceptions) > 0 && w.chance(50) {
			throws = fmt.Sprintf(" throws (1: %s %s)", w.pick(exceptions), w.pick(words))
		}
		// Named after the service: Thrift has no overloading.
		fmt.Fprintf(b, "  %s %s_%s%d(%s)%s\n", result, m, name, i, strings.Join(args, ", "), throws)
	}
	b.WriteString("}\n")
	w.services = append(w.services, fmt.Sprintf("f%d.%s", i, name))
}

// TestRandomSeparately generates random files in one run and in one for each.
func TestRandomSeparately(t *testing.T) {
	for seed := range uint64(24) {
		dir := t.TempDir()
		w := world{r: rand.New(rand.NewPCG(seed, 1))}
		for i := range 3 {
			put(t, filepath.Join(dir, fmt.Sprintf("f%d.thrift", i)), w.file(i))
		}
		if code, _, stderr := run(dir, "-q", "-prefix", "example.com", "-out", "one", "."); code != 0 {
			t.Fatalf("seed %d: exit %d\n%s", seed, code, stderr)
		}
		for i := range 3 {
			if code, _, stderr := run(dir, "-q", "-prefix", "example.com", "-out", "each", fmt.Sprintf("f%d.thrift", 2-i)); code != 0 {
				t.Fatalf("seed %d: exit %d\n%s", seed, code, stderr)
			}
		}
		if !maps.Equal(tree(t, filepath.Join(dir, "one")), tree(t, filepath.Join(dir, "each"))) {
			t.Errorf("seed %d: separate runs give other files", seed)
		}
	}
}
