package gen

import (
	"strings"
	"testing"
)

// What a method's annotations say of its calls stands in its rpc.Method: whether they may be
// made twice, and whether they change nothing.
func TestAnnotationsOfMethods(t *testing.T) {
	files, err := Config{}.Generate(load(t, map[string]string{"a.thrift": `
		namespace go a
		service S {
			i32 plain(1: i32 n)
			i32 twice(1: i32 n) (idempotent)
			i32 reads(1: i32 n) (no_side_effects)
			i32 both(1: i32 n) (idempotent = "true", no_side_effects = "true")
			i32 neither(1: i32 n) (idempotent = "false", no_side_effects = "false")
		}`}, "a.thrift"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range files {
		for line := range strings.Lines(f.Content) {
			if _, rest, ok := strings.Cut(line, `Service: "S", Name: "`); ok {
				name, rest, _ := strings.Cut(rest, `"`)
				found[name] = rest
			}
		}
	}
	for name, want := range map[string][2]bool{"plain": {}, "twice": {true, false}, "reads": {false, true}, "both": {true, true}, "neither": {}} {
		got := [2]bool{strings.Contains(found[name], "Idempotent: true,"), strings.Contains(found[name], "ReadOnly: true,")}
		if found[name] == "" || got != want {
			t.Errorf("%s: %v, want %v: %s", name, got, want, found[name])
		}
	}
}
