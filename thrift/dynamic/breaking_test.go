package dynamic_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/breaking"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// A member is one field of a struct that changes from version to version.
type member struct {
	id        int
	name, typ string
	need, def string
	value     string // in JSON
}

var memberTypes = []struct {
	typ  string
	json func(r *rand.Rand) string
	def  string
}{
	{"bool", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(2) == 1) }, "true"},
	{"i16", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1000)) }, "7"},
	{"i32", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1000)) }, "8"},
	{"i64", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1000)) }, "9"},
	{"string", func(r *rand.Rand) string { return fmt.Sprintf("%q", strings.Repeat("x", 1+r.IntN(5))) }, `"d"`},
	{"list<i32>", func(r *rand.Rand) string { return fmt.Sprintf("[%d]", r.IntN(1000)) }, "[1]"},
	{"list<i64>", func(r *rand.Rand) string { return fmt.Sprintf("[%d]", r.IntN(1000)) }, "[2]"},
	{"set<i32>", func(r *rand.Rand) string { return fmt.Sprintf("[%d]", r.IntN(1000)) }, "[3]"},
	{"map<string,i32>", func(r *rand.Rand) string { return fmt.Sprintf(`{"k":%d}`, r.IntN(1000)) }, `{"z":1}`},
	{"E", func(r *rand.Rand) string { return []string{`"A"`, `"B"`}[r.IntN(2)] }, "E.A"},
	{"Alias", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1000)) }, "11"},
}

func newMember(r *rand.Rand, id int) *member {
	t := memberTypes[r.IntN(len(memberTypes))]
	m := &member{id: id, name: fmt.Sprint("f", id), typ: t.typ, value: t.json(r), need: []string{"", "", "optional", "required"}[r.IntN(4)]}
	if r.IntN(4) == 0 {
		m.def = t.def
	}
	return m
}

func text(list []*member, enum string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "typedef i64 Alias\nenum E { %s }\nstruct S {\n", enum)
	for _, m := range list {
		fmt.Fprintf(&b, "\t%d: %s %s %s", m.id, m.need, m.typ, m.name)
		if m.def != "" {
			fmt.Fprintf(&b, " = %s", m.def)
		}
		b.WriteString("\n")
	}
	return b.String() + "}\n"
}

// change makes the next version of a struct.
func change(r *rand.Rand, old []*member) (list []*member, enum string) {
	next := 50
	for _, m := range old {
		c := *m
		switch r.IntN(24) {
		case 0:
			continue
		case 1:
			c.name = "renamed_" + m.name
		case 2:
			t := memberTypes[r.IntN(len(memberTypes))]
			c.typ, c.value, c.def = t.typ, t.json(r), ""
		case 3:
			next++
			c.id = next
		case 4:
			c.need = []string{"", "optional", "required"}[r.IntN(3)]
		case 5:
			c.def = ""
		case 6:
			t := memberTypes[r.IntN(len(memberTypes))]
			c.name, c.typ, c.value, c.def = "other_"+m.name, t.typ, t.json(r), ""
		}
		list = append(list, &c)
	}
	if r.IntN(3) == 0 {
		list = append(list, newMember(r, 90))
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, []string{"A = 1, B = 2", "A = 1, B = 2", "A = 1, B = 2", "B = 2, A = 1, C = 3", "A = 2, B = 1", "A = 1"}[r.IntN(6)]
}

// object is a message, without some of the fields that need not be there.
func object(r *rand.Rand, list []*member) string {
	var parts []string
	for _, m := range list {
		if m.need != "optional" || r.IntN(2) == 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", m.name, m.value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func loadOne(t *testing.T, source string) (*idl.Schema, *dynamic.Codec) {
	t.Helper()
	s, err := thriftidl.Reader{Open: func(path string) ([]byte, error) {
		if path == "s.thrift" {
			return []byte(source), nil
		}
		return nil, fs.ErrNotExist
	}}.Load("s.thrift")
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	c, err := dynamic.Struct(s.Files[0].Structs[0])
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// crosses sends a message from one version to the other, and tells what went
// wrong: a message that is refused, a field that is lost or has another value.
func crosses(t *testing.T, r *rand.Rand, from, to []*member, out, in *dynamic.Codec) string {
	t.Helper()
	sent := object(r, from)
	body, err := appendTo(out, &dynamic.Message{JSON: []byte(sent)})
	if err != nil {
		return "" // a constant that an enum lost
	}
	var got dynamic.Message
	if err := in.Decode(buf.ViewOf(body), &got, nil); err != nil {
		return err.Error()
	}
	var was, is map[string]json.RawMessage
	if json.Unmarshal([]byte(sent), &was) != nil || json.Unmarshal(got.JSON, &is) != nil {
		t.Fatalf("%s %s", sent, got.JSON)
	}
	for _, m := range from {
		for _, n := range to {
			kept := m.name == n.name || m.id == n.id && strings.TrimPrefix(n.name, "renamed_") == strings.TrimPrefix(m.name, "renamed_")
			if kept && was[m.name] != nil && string(was[m.name]) != string(is[n.name]) {
				return fmt.Sprintf("%s was %s and arrives as %s", m.name, was[m.name], is[n.name])
			}
		}
	}
	return ""
}

// TestBreakingIsTrue holds breaking.Compare against the codec: two versions of which
// it says nothing about the wire understand each other, both ways; and where they
// do not, it has said so.
func TestBreakingIsTrue(t *testing.T) {
	quiet, confirmed, silent := 0, 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var old []*member
		for id := range 1 + r.IntN(6) {
			old = append(old, newMember(r, id+1))
		}
		list, enum := change(r, old)
		before, after := text(old, "A = 1, B = 2"), text(list, enum)
		if strings.Contains(after, "E.A") && !strings.Contains(enum, "A") {
			continue
		}
		a, oldCodec := loadOne(t, before)
		b, newCodec := loadOne(t, after)
		wire := false
		found := breaking.Compare(a, b)
		for _, f := range found {
			wire = wire || f.Harms == breaking.Wire
		}
		wrong := ""
		for range 4 {
			if wrong = crosses(t, r, old, list, oldCodec, newCodec); wrong == "" {
				wrong = crosses(t, r, list, old, newCodec, oldCodec)
			}
			if wrong != "" {
				break
			}
		}
		switch {
		case wrong != "" && !wire:
			t.Fatalf("seed %d: %s\n%s%s%v", seed, wrong, before, after, found)
		case wrong != "":
			confirmed++
		case wire:
			silent++ // needs values that did not come up
		default:
			quiet++
		}
	}
	t.Logf("%d pairs are said to be right and are, %d wrong and are, %d wrong without being caught", quiet, confirmed, silent)
	if quiet < 500 || confirmed < 500 || silent > confirmed {
		t.Errorf("%d, %d and %d pairs: too one-sided to say much", quiet, confirmed, silent)
	}
}
