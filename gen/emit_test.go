package gen

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// A comment of an IDL is one of Go, whatever is in it.
func TestComment(t *testing.T) {
	for doc, want := range map[string]string{
		"":                           "",
		"One line.":                  "// One line.\n",
		"Two\nlines.":                "// Two\n// lines.\n",
		"A list:\n\n  - of  \n\t- x": "// A list:\n//\n//   - of\n// \t- x\n",
		"go:build ignore":            "// go:build ignore\n", // no directive
		"*/ package x /*":            "// */ package x /*\n",
		"a\x00b\ufeffc\x1fd":         "// a b c d\n",
		"\xff broken":                "// ? broken\n",
		"\r\nends":                   "//\n// ends\n",
	} {
		if got := comment(doc, ""); got != want {
			t.Errorf("%q\n gives %q\n want  %q", doc, got, want)
		}
	}
	if got := comment("a\n\nb", "\t"); got != "\t// a\n\t//\n\t// b\n" {
		t.Errorf("indented: %q", got)
	}
}

// What stands in the tag of a field: for the codec, for JSON, and what the IDL adds.
func TestTags(t *testing.T) {
	const struct1 = "struct S { 1: %s }\nunion U { 1: i32 n }"
	for field, want := range map[string]string{
		"i32 a":                         `thrift:"a,1" json:"a"`,
		"required i32 user_id":          `thrift:"user_id,1,required" json:"user_id"`,
		"optional i32 a":                `thrift:"a,1,optional" json:"a,omitempty"`,
		"optional string a":             `thrift:"a,1,optional" json:"a,omitempty"`,
		"optional binary a":             `thrift:"a,1,optional" json:"a,omitzero"`,
		"optional list<i32> a":          `thrift:"a,1,optional" json:"a,omitzero"`,
		"optional map<i32, i32> a":      `thrift:"a,1,optional" json:"a,omitzero"`,
		"optional S a":                  `thrift:"a,1,optional" json:"a,omitempty"`,
		"optional U a":                  `thrift:"a,1,optional" json:"a,omitempty"`,
		"list<i32> a":                   `thrift:"a,1" json:"a"`,
		"U a":                           `thrift:"a,1" json:"a"`,
		`i32 a (go.tag = 'json:"b"')`:   `thrift:"a,1" json:"b"`,
		`i32 a (go.tag = 'json:"-"')`:   `thrift:"a,1" json:"-"`,
		`i32 a (go.tag = 'db:"b"')`:     `thrift:"a,1" json:"a" db:"b"`,
		"i32 a (go.tag = 'x`y')":        `thrift:"a,1" json:"a"`, // would end the tag
		`i32 a (go.tag = 'myjson:"b"')`: `thrift:"a,1" json:"a" myjson:"b"`,
	} {
		s := load(t, map[string]string{"a.thrift": strings.Replace(struct1, "%s", field, 1)}, "a.thrift")
		g := Config{}.generator()
		g.plan(s)
		if got := g.emitter(g.files[s.Files[0]]).tag(s.Files[0].Structs[0].Fields[0]); got != "`"+want+"`" {
			t.Errorf("%s\n gives %s\n want  `%s`", field, got, want)
		}
	}
}

// The comment of a union lists what it may be, in lines that can be read.
func TestUnionDoc(t *testing.T) {
	many := strings.Split(strings.Repeat("*UnionWithAVariant ", 12), " ")[:12]
	for want, c := range map[string]struct {
		doc      string
		variants []string
	}{
		"U is nil, which is unset: it has no variants.":                       {"", nil},
		"U is *UA or nil, which is unset.":                                    {"", []string{"*UA"}},
		"Of the IDL.\n\nU is *UA or nil, which is unset.":                     {"Of the IDL.", []string{"*UA"}},
		"U is one of these, or nil, which is unset:\n*UA, *UB.":               {"", []string{"*UA", "*UB"}},
		"U is one of these, or nil, which is unset:\n" + lines(many, 5) + ".": {"", many},
	} {
		if got := unionDoc(c.doc, "U", c.variants); got != want {
			t.Errorf("%v\n gives %q\n want  %q", c.variants, got, want)
		}
	}
}

// lines joins words, n to a line.
func lines(words []string, n int) string {
	var parts []string
	for ; len(words) > n; words = words[n:] {
		parts = append(parts, strings.Join(words[:n], ", ")+",")
	}
	return strings.Join(append(parts, strings.Join(words, ", ")), "\n")
}

// A schema may be generated from by several at once: it is not changed.
func TestGenerateIsPure(t *testing.T) {
	s := load(t, map[string]string{"a.thrift": "struct S { 1: optional i32 n = 5 }\nservice V { S m(1: S s) }"}, "a.thrift")
	results := make(chan string, 4)
	for range cap(results) {
		go func() {
			files, err := Config{}.Generate(s)
			if err != nil {
				results <- err.Error()
				return
			}
			results <- files[0].Content + files[1].Content
		}()
	}
	first := <-results
	for range cap(results) - 1 {
		if again := <-results; again != first || !strings.Contains(first, "func (x *S) GetN() int32") {
			t.Fatal("two runs differ:", again)
		}
	}
	if s.Files[0].Structs[0].Fields[0].Presence != idl.Optional {
		t.Error("the schema was changed")
	}
}
