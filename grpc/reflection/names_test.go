package reflection

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// Names become such as Protobuf has, and stay apart.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "": "_", "9a": "_9a", "a.b/c-d": "a_b_c_d", "naïve": "na_ve", "_A1": "_A1"} {
		if got := identifier(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	taken := map[string]bool{}
	for _, want := range []string{"a", "a_", "a__"} {
		if got := unique(taken, "a"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for field, want := range map[string]string{"a": "AEntry", "a_b": "ABEntry", "aB": "ABEntry", "_a__b_": "ABEntry", "x1_2y": "X12yEntry"} {
		if got := entryName(field); got != want {
			t.Errorf("the entries of %q are %q, want %q", field, got, want)
		}
	}
}

// Each id of Thrift has a number that Protobuf allows, and no other id has it.
func TestNumbers(t *testing.T) {
	seen := map[int32]int32{}
	for id := int32(math.MinInt16); id <= math.MaxInt16; id++ {
		n := number(id)
		if was, twice := seen[n]; twice || n < 1 || n >= 1<<29 || n >= reservedFirst && n <= reservedLast {
			t.Fatalf("field %d has number %d, as %d has", id, n, was)
		}
		seen[n] = id
	}
}

// described has the official run time check what an IDL is described as.
func described(packed string) (files int, err error) {
	schema, err := thriftidl.Unpack(packed)
	if err != nil {
		return 0, nil
	}
	var services []string
	for _, f := range schema.Files {
		for _, s := range f.Services {
			services = append(services, s.Name)
		}
	}
	set := &descriptorpb.FileDescriptorSet{File: describe(schema, services[:min(1, len(services))])}
	all, err := protodesc.NewFiles(set)
	if err != nil {
		return 0, fmt.Errorf("%w, of %v", err, set)
	}
	return all.NumFiles(), nil
}

// The IDLs of the examples, and those that the reader's own tests have.
func TestExamples(t *testing.T) {
	for _, pattern := range []string{"../../examples/guide/idl/*.thrift", "../../examples/*/*.thrift", "../../bench/codec/*.thrift", "../../gen/testdata/idl/*.thrift"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "include ") {
				continue // alone it is none
			}
			if n, err := described("#file " + filepath.Base(path) + "\n" + string(text)); err != nil || n == 0 {
				t.Errorf("%s: %d files, %v", path, n, err)
			}
		}
	}
}

// Whatever the reader of Thrift takes is described as something that Protobuf takes.
func FuzzThrift(f *testing.F) {
	f.Add("#file a.thrift\nstruct A{1:A a,2:list<map<string,set<A>>> b}\nunion U{1:A union,2:i32 _}\nservice S{A m(1:A a,2:U u)}\n")
	f.Add("#file a.thrift\nenum E{A,B=-1,C=0}\nstruct E_A{1:map<E,map<binary,E>> x_y,2:map<i8,E> x__y}\nservice E_B{void E_B()}\n")
	f.Add("#file a.thrift\ninclude \"b/a.thrift\"\nservice S extends a.S{oneway void m()}\n#file b/a.thrift\nstruct A{}\nservice S{A m(1:A a) throws(1:A a)}\n")
	f.Add("#file a.thrift\nenum E{A=10}\nstruct A{1:map<i32,E>A}\n")
	f.Fuzz(func(t *testing.T, packed string) {
		if _, err := described(packed); err != nil {
			t.Error(err)
		}
	})
}
