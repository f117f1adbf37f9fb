package main

import (
	"strings"
	"testing"
)

// oddIDL has what a request to fill in can stumble over, a method for each.
const oddIDL = `namespace go odd
enum Empty {}
enum Size { SMALL = 3 }
const i64 DEEP = 9
const i64 DEEPER = DEEP
struct Plain { 1: string text }
struct Inner { 1: Plain req }
struct Loop { 1: map<list<i32>, Loop> by, 2: map<Plain, list<Loop>> lists, 3: map<string, Loop> named, 4: optional Loop next, 5: set<Loop> set }
struct Texts { 1: string quote = "it's \"q\"", 2: string line = "a\nb", 3: binary raw = "x", 4: uuid id = "00112233-4455-6677-8899-aabbccddeeff", 5: double d = 3, 6: i64 deep = DEEPER }
struct Keys { 1: map<bool, i8> b, 2: map<double, i8> d, 3: map<uuid, i8> u, 4: map<Size, i8> e, 5: map<i64, i8> n, 6: map<binary, i8> r, 7: map<map<i8, i8>, i8> m }
union Endless { 1: Endless again }
union Late { 1: Late again, 2: list<Late> some, 3: i32 n }
service Odd {
	void same(1: Inner req), void loop(1: Loop l), void texts(1: Texts t), void keys(1: Keys k), void late(1: Late l),
	void number(1: i64 n = 7), void empty(), void empties(1: Empty e, 2: list<Empty> l), void lists(1: list<list<Plain>> l), void maps(1: map<Plain, Inner> m),
	void bare(1: map<string, string> req), void two(1: Inner req, 2: i32 n), void reply(1: Plain req), stream<Plain> down(1: Inner req),
}
`

// TestSamplesOfOddTypes: whatever the types are, what describe shows is taken by call as
// it stands.
func TestSamplesOfOddTypes(t *testing.T) {
	schema, err := loadIDL([]string{writeFile(t, "odd.thrift", oddIDL)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{
		"same":    `{"req":{"req":{"text":""}}}`, // {"req":{"text":""}} would be the argument, not its field
		"loop":    `{"by":[],"lists":[{"key":{"text":""},"value":[]}],"named":{},"set":[]}`,
		"texts":   `{"quote":"it's\"q\"","line":"a\nb","id":"00112233-4455-6677-8899-aabbccddeeff","d":3,"deep":9}`,
		"keys":    `{"b":{"false":0},"d":{"0":0},"u":{"00000000-0000-0000-0000-000000000000":0},"e":{"SMALL":0},"n":{"0":0},"r":{"":0},"m":[{"key":{"0":0},"value":0}]}`,
		"late":    `{"some":[]}`,
		"number":  `7`,
		"empty":   ``,
		"empties": `{"e":0,"l":[0]}`,
		"lists":   `[[{"text":""}]]`,
		"maps":    `[{"key":{"text":""},"value":{"req":{"text":""}}}]`,
		"bare":    `{"":""}`,
		"two":     `{"req":{"req":{"text":""}},"n":0}`,
		"reply":   `{"text":""}`,
		"down":    `{"req":{"text":""}}`, // a message of a stream has no name
	} {
		x := &target{link: &link{}}
		if err := x.of(schema.Schema, "Odd/"+method); err != nil {
			t.Fatal(err)
		}
		sample := sampleRequest(x.service, x.method)
		if got := strings.Join(strings.Fields(sample), ""); got != want {
			t.Errorf("%s: the sample is\n%s\nwant\n%s", method, got, want)
		}
		if sample == "" {
			sample = "{}"
		}
		if _, _, err := x.arguments([]byte(sample)); err != nil {
			t.Errorf("%s: call refuses %s: %v", method, strings.Join(strings.Fields(sample), ""), err)
		}
	}
}

// TestShellWord: what nextSteps prints is typed into a shell.
func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"hello": "hello", "./a/b-c_d.e": "./a/b-c_d.e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
		"größe": "größe", "a;b": "'a;b'", "~": "'~'", "a@1:2,3%": "a@1:2,3%", "`x`": "'`x`'", "a\nb": "'a\nb'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// TestDidYouMean: a suggestion is near, and there is none for what is far from all.
func TestDidYouMean(t *testing.T) {
	words := []string{"new", "gen", "call", "bench", "demo", "describe", "Hello"}
	for written, want := range map[string]string{
		"cal": "call", "CALL": "call", "clal": "call", "bnech": "bench", "descrbe": "describe", "helo": "Hello", "dmeo": "demo",
		"x": "", "serve": "", "": "", strings.Repeat("call", 100): "", "genn": "gen",
	} {
		if want != "" {
			want = ` (did you mean "` + want + `"?)`
		}
		if got := didYouMean(written, words); got != want {
			t.Errorf("%.20q: %q, want %q", written, got, want)
		}
	}
}

// TestPickNames: an exact name before one in another case, and at most twenty in an error.
func TestPickNames(t *testing.T) {
	name := func(s *string) string { return *s }
	var items []*string
	for _, s := range []string{"echo", "Echo", "ping"} {
		items = append(items, &s)
	}
	for asked, want := range map[string]string{"Echo": "Echo", "echo": "echo", "ECHO": "echo", "Ping": "ping"} {
		if got, known := pick(items, name, asked); got == nil || *got != want || known != "" {
			t.Errorf("%s: %v, %q", asked, got, known)
		}
	}
	if got, known := pick(items, name, "pong"); got != nil || known != "echo, Echo, ping" {
		t.Errorf("pong: %v, %q", got, known)
	}
	if got, known := pick(nil, name, "x"); got != nil || known != "none" {
		t.Errorf("of none: %v, %q", got, known)
	}
	for range 30 {
		items = append(items, new("more"))
	}
	if _, known := pick(items, name, "pong"); strings.Count(known, ",") != 20 || !strings.HasSuffix(known, ", 13 more") {
		t.Errorf("of many: %s", known)
	}
}
