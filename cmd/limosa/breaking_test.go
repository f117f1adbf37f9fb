package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// put writes files below the working directory.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	oldIDL = map[string]string{
		"idl/a.thrift":        "include \"shared/b.thrift\"\nstruct S {\n  1: i32 a = 1\n  2: string gone\n}\n",
		"idl/shared/b.thrift": "struct T { 1: i32 a }\n",
		"idl/c.thrift":        "struct Lost { }\n",
	}
	newIDL = map[string]string{
		"idl/a.thrift":        "include \"shared/b.thrift\"\nstruct S {\n  1: i32 a = 2\n}\n",
		"idl/shared/b.thrift": "struct T { 1: i64 a }\n",
		"idl/new.thrift":      "struct New { 1: required i32 a }\n",
	}
)

// wantBroken is what the two trees differ in; OLD stands before old paths.
const wantBroken = `idl/a.thrift:3:10: behavior: the default of field a of struct S was 1 and is 2 (default-changed)
      1: i32 a = 2
OLDidl/a.thrift:4:13: source: field gone (id 2) of struct S is gone (field-removed)
      2: string gone
idl/shared/b.thrift:1:19: wire: field a of struct T was i32 and is i64 (field-type-changed)
    struct T { 1: i64 a }
OLDidl/c.thrift:1:8: source: struct Lost is gone (type-removed)
    struct Lost { }
`

func below(dir string, files map[string]string) map[string]string {
	moved := map[string]string{}
	for name, text := range files {
		moved[dir+"/"+name] = text
	}
	return moved
}

// sorted makes the order of files no matter: new files come first.
func blocks(out string) map[string]bool {
	found := map[string]bool{}
	lines := strings.SplitAfter(out, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		found[lines[i]+lines[i+1]] = true
	}
	return found
}

func checkBroken(t *testing.T, old, out string) {
	t.Helper()
	want, got := blocks(strings.ReplaceAll(wantBroken, "OLD", old)), blocks(out)
	for b := range want {
		if !got[b] {
			t.Errorf("missing:\n%s", b)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, want %d:\n%s", len(got), len(want), out)
	}
}

func TestBreakingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, newIDL)
	put(t, below("old", oldIDL))
	for _, args := range []string{"-against old", "--against=old idl", "idl -against ./old", "-against old idl/a.thrift idl/shared idl/new.thrift idl/c.thrift"} {
		code, out, errs := runTool(t, "", append([]string{"breaking"}, strings.Fields(args)...)...)
		if strings.Contains(args, "c.thrift") {
			// A file that is gone cannot be named.
			if code != 2 || !strings.Contains(errs, "idl/c.thrift: no such file") {
				t.Errorf("%s: exit code %d, %s", args, code, errs)
			}
			continue
		}
		if code != 1 || errs != "" {
			t.Errorf("%s: exit code %d, %s", args, code, errs)
		}
		checkBroken(t, "old/", out)
	}
	// The directory is the twin of the one that is compared. What is hidden is no part of either.
	put(t, map[string]string{"idl/.tool/bad.thrift": "struct {", "old/idl/.tool/bad.thrift": "struct {"})
	code, out, errs := runTool(t, "", "breaking", "-against", "old/idl", "idl")
	if code != 1 || errs != "" {
		t.Errorf("twin: exit code %d, %s", code, errs)
	}
	checkBroken(t, "old/", out)
	// One file, which includes another.
	code, out, _ = runTool(t, "", "breaking", "-against", "old/idl", "idl/a.thrift", "-except", "source,default-changed")
	if code != 1 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "(field-type-changed)") {
		t.Errorf("one file: exit code %d, %s", code, out)
	}
	if code, out, errs := runTool(t, "", "breaking", "-against", "old", "-except", "source,default-changed", "-except", "wire"); code != 0 || out+errs != "" {
		t.Errorf("all left out: exit code %d, %s%s", code, out, errs)
	}
	if code, out, errs := runTool(t, "", "breaking", "-against", "."); code != 0 || out+errs != "" {
		t.Errorf("with itself: exit code %d, %s%s", code, out, errs)
	}
	if code, out, errs := runTool(t, "", "breaking", "-against", "old", "idl/new.thrift"); code != 0 || out+errs != "" {
		t.Errorf("a new file: exit code %d, %s%s", code, out, errs)
	}
}

// What is told of the old side has the names of the old files.
func TestBreakingNamesTheOldFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"old/a.thrift": "struct M { 1: i32 a }", "new/b.thrift": "struct M { 1: i32 a }", "bad/a.thrift": "struct M {"})
	code, out, errs := runTool(t, "", "breaking", "-against", "old", "new")
	if want := "new/b.thrift:1:8: source: struct M was in old/a.thrift (type-moved)\n    struct M { 1: i32 a }\n"; code != 1 || out != want || errs != "" {
		t.Errorf("moved: exit code %d, %s%s", code, out, errs)
	}
	code, out, errs = runTool(t, "", "breaking", "-against", "bad", "new")
	if want := "limosa breaking: bad/a.thrift:1:11: the end of the file where \"}\" is expected\n"; code != 1 || out != "" || errs != want {
		t.Errorf("bad: exit code %d, %s%s", code, out, errs)
	}
}

func TestBreakingJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, newIDL)
	put(t, below("old", oldIDL))
	code, out, _ := runTool(t, "", "breaking", "-against", "old", "-o", "json", "idl/a.thrift")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 1 || len(lines) != 3 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	var got [3]brokenLine
	for i := range got {
		if err := json.Unmarshal([]byte(lines[i]), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	want := brokenLine{"field-removed", "source", "old", "old/idl/a.thrift", 4, 13, "field gone (id 2) of struct S is gone", "  2: string gone"}
	for _, g := range got {
		if g == want {
			return
		}
	}
	t.Errorf("%+v", got)
}

func TestBreakingGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: the program git is not installed")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put(t, below("sub", oldIDL))
	put(t, map[string]string{"sub/.tool/bad.thrift": "struct {"}) // as gen, it does not look there
	git("init", "-q", "-b", "trunk", ".")
	git("add", ".")
	git("commit", "-q", "-m", "old")
	git("tag", "idl")
	for name := range oldIDL {
		if err := os.Remove(filepath.Join("sub", name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, below("sub", newIDL))
	put(t, map[string]string{"sub/idl/bad.txt": "", "outside.thrift": ""})
	t.Chdir("sub")
	for _, ref := range []string{"trunk", "HEAD", "git:idl"} {
		code, out, errs := runTool(t, "", "breaking", "-against", ref)
		if code != 1 || errs != "" {
			t.Errorf("%s: exit code %d, %s", ref, code, errs)
		}
		checkBroken(t, strings.TrimPrefix(ref, "git:")+":sub/", out)
	}
	// What lies outside of the repository is what it is.
	include := t.TempDir()
	put(t, map[string]string{filepath.Join(include, "far.thrift"): "struct Far { }", "inc.thrift": "include \"far.thrift\"\nstruct I { 1: far.Far f }"})
	git("add", "inc.thrift")
	git("commit", "-q", "-m", "inc")
	if code, out, errs := runTool(t, "", "breaking", "-against", "HEAD", "-I", include, "inc.thrift"); code != 0 || out+errs != "" {
		t.Errorf("-I: exit code %d, %s%s", code, out, errs)
	}
	put(t, map[string]string{"else/sub/inc.thrift": "include \"far.thrift\"\nstruct I { }"})
	if code, out, errs := runTool(t, "", "breaking", "-against", "else/sub", "-I", include, "inc.thrift"); code != 0 || out+errs != "" {
		t.Errorf("-I, a directory: exit code %d, %s%s", code, out, errs)
	}
	t.Chdir("idl")
	if code, out, errs := runTool(t, "", "breaking", "-against", "trunk", "a.thrift", "../../outside.thrift"); code != 1 || errs != "" || strings.Count(out, "\n") != 6 || !strings.Contains(out, "shared/b.thrift:1:19: wire") {
		t.Errorf("from below: exit code %d, %s%s", code, out, errs)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"-against nowhere", 2, "nowhere is no directory, and no ref that git knows"},
		{"-against --help=x", 2, ""},
		{"-against git:--exec=x", 2, "no ref that git knows"},
		{"-against trunk ../../nothing.thrift", 2, "nothing.thrift: no such file"},
	} {
		code, out, errs := runTool(t, "", append([]string{"breaking"}, strings.Fields(c.args)...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s%s", c.args, code, out, errs)
		}
	}
	t.Chdir(t.TempDir())
	put(t, map[string]string{"a.thrift": ""})
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	if code, _, errs := runTool(t, "", "breaking", "-against", "trunk"); code != 2 || !strings.Contains(errs, "git") {
		t.Errorf("outside of a repository: exit code %d, %s", code, errs)
	}
}

func TestBreakingAskedWrongly(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, map[string]string{"new/a.thrift": "struct S { }", "old/a.thrift": "struct S { 1: x }", "empty/x": ""})
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "against what?"},
		{"new", 2, "against what?"},
		{"-against old -except nonsense new", 2, `"nonsense": there is no such rule`},
		{"-against empty empty", 2, "no .proto or .thrift file below empty"},
		{"-against empty new empty -o xml", 2, "output is text or json"},
		{"-against empty new old", 2, "empty has none of new, old"},
		{"-against old new", 1, "limosa breaking: old/a.thrift:1:17: "},
		{"-against new old", 1, "limosa breaking: old/a.thrift:1:17: "},
	} {
		code, out, errs := runTool(t, "", append([]string{"breaking"}, strings.Fields(c.args)...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out, errs)
		}
	}
}

// Both IDLs are compared in one run; a .proto file finds its imports in either tree.
func TestBreakingProto(t *testing.T) {
	t.Chdir(t.TempDir())
	const order = "syntax = \"proto3\";\npackage shop.v1;\nimport \"shop/v1/item.proto\";\nmessage Order { %s items = 1; }\n"
	put(t, below("old", map[string]string{
		"idl/shop/v1/order.proto": strings.Replace(order, "%s", "repeated Item", 1),
		"idl/shop/v1/item.proto":  "syntax = \"proto3\";\npackage shop.v1;\nmessage Item { int32 n = 1; }\n",
		"idl/a.thrift":            "struct S { 1: i32 a }\n",
	}))
	put(t, map[string]string{
		"idl/shop/v1/order.proto": strings.Replace(order, "%s", "Item", 1),
		"idl/shop/v1/item.proto":  "syntax = \"proto3\";\npackage shop.v1;\nmessage Item {\n  string n = 1;\n}\n",
		"idl/a.thrift":            "struct S { 1: i64 a }\n",
	})
	code, out, errs := runTool(t, "", "breaking", "-against", "old")
	want := `idl/shop/v1/item.proto:4:10: wire: field n of struct Item was int32 and is string (field-type-changed)
      string n = 1;
idl/shop/v1/order.proto:4:22: wire: field items of struct Order was list<Item> and is Item (field-type-changed)
    message Order { Item items = 1; }
idl/shop/v1/order.proto:4:22: source: field items of struct Order is optional and was not (optional-changed)
    message Order { Item items = 1; }
idl/a.thrift:1:19: wire: field a of struct S was i32 and is i64 (field-type-changed)
    struct S { 1: i64 a }
`
	if code != 1 || out != want || errs != "" {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", code, out, errs, want)
	}
	put(t, map[string]string{"old/idl/shop/v1/item.proto": "syntax = \"proto3\"\n"})
	if code, _, errs := runTool(t, "", "breaking", "-against", "old"); code != 1 || !strings.Contains(errs, "limosa breaking: old/idl/shop/v1/item.proto:2:1: syntax error") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
