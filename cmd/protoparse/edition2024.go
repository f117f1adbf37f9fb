package protoparse

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// protocompile knows editions up to 2023. What 2024 has besides says nothing about
// messages: who may see a definition, how names are to be written, imports for options
// alone. So a file of edition 2024 is read as one of 2023 with those words blanked out,
// each place where it was, and its descriptor is put right afterwards.
//
//	edition = "2024";                               edition = "2023";
//	import option "google/api/annotations.proto";   import        "google/api/annotations.proto";
//	export message Item {}                                 message Item {}
//	option features.enforce_naming_style = …;
//
// That a definition which is called local is used by no other file, protoidl checks.

// lowered is a file of edition 2024 as one of 2023.
type lowered struct {
	text    string
	options map[string]bool // imports that are for options alone
	seen    map[int]descriptorpb.SymbolVisibility
}

// A token is a word, a string or a single character of a .proto file.
type token struct {
	text string
	at   int // offset
}

// isWord tells the characters of names and numbers.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// tokens cuts a text up; comments are left out. What is no .proto file gives tokens too,
// over which others may complain.
func tokens(text string) []token {
	var list []token
	for i := len(text) - len(strings.TrimPrefix(text, "\ufeff")); i < len(text); {
		start, c := i, text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case strings.HasPrefix(text[i:], "//"):
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(text)
			}
			continue
		case strings.HasPrefix(text[i:], "/*"):
			// From i+2 on: /*/ opens a comment and does not close it.
			if n := strings.Index(text[i+2:], "*/"); n >= 0 {
				i += n + 4
			} else {
				i = len(text)
			}
			continue
		case c == '"' || c == '\'':
			// A string ends with its line at the latest: a quote that was forgotten does not
			// swallow the file.
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(text))
		case isWord(c):
			for i < len(text) && isWord(text[i]) {
				i++
			}
		default:
			i++
		}
		list = append(list, token{text[start:i], start})
	}
	return list
}

// lower gives nil for a file of another edition.
//
// It is one loop over the tokens with a case for each construct that edition 2024 has added;
// they share the place in the text, so that what they replace keeps its line.
func lower(text string) *lowered {
	// Most files are of other editions, and need not be cut up.
	if !strings.Contains(text, "2024") {
		return nil
	}
	toks := tokens(text)
	is := func(i int, words ...string) bool {
		return i >= 0 && i < len(toks) && slices.Contains(words, toks[i].text)
	}
	if !is(0, "edition") || !is(1, "=") || !is(2, `"2024"`, "'2024'") {
		return nil
	}
	b := []byte(text)
	l := &lowered{options: map[string]bool{}, seen: map[int]descriptorpb.SymbolVisibility{}}
	// The last digit of the year, behind the quote.
	b[toks[2].at+4] = '3'
	defined := -1 // the last definition whose visibility could be said
	for i, t := range toks {
		end := t.at + len(t.text)
		// Only where a statement begins are these words what they say: fields and packages may
		// have them as names.
		begins := i > 0 && is(i-1, ";", "{", "}")
		switch {
		case begins && is(i, "import") && is(i+1, "option") && i+2 < len(toks):
			blank(b, toks[i+1].at, toks[i+1].at+len("option"))
			l.options[strings.Trim(toks[i+2].text, `"'`)] = true
		case begins && is(i, "export", "local") && is(i+1, "message", "enum") && is(i+3, "{"):
			blank(b, t.at, end)
			l.seen[defined+1] = descriptorpb.SymbolVisibility_VISIBILITY_EXPORT
			if t.text == "local" {
				l.seen[defined+1] = descriptorpb.SymbolVisibility_VISIBILITY_LOCAL
			}
		case is(i, "message", "enum") && is(i+2, "{") && (begins || is(i-1, "export", "local")):
			defined++
		case is(i, "features") && is(i-1, "option", "[", ","):
			blankFeature(b, toks, i)
		}
	}
	l.text = string(b)
	return l
}

// newFeatures are the features that edition 2024 has first, by their last names. None
// changes what a message is.
var newFeatures = []string{
	"enforce_naming_style", "default_symbol_visibility", // Protobuf's own
	"strip_enum_prefix", "enum_name_uses_string_view", "nest_in_file_class", "large_enum", // of Go, C++, Java
}

// blankFeature blanks out the option that begins with token i, "features", if it is a new one: of a statement all but the
// semicolon, in brackets with one comma beside it, or the brackets if nothing is left in them.
func blankFeature(b []byte, toks []token, i int) {
	// The name ends before the equals sign: features.enforce_naming_style is three tokens,
	// and one of a language, features.(pb.go).strip_enum_prefix, more.
	eq := i
	for eq < len(toks) && toks[eq].text != "=" && toks[eq].text != ";" {
		eq++
	}
	if eq+2 >= len(toks) || !slices.Contains(newFeatures, toks[eq-1].text) {
		return
	}
	before, after := i-1, toks[eq+2]
	for before > 0 && b[toks[before].at] == ' ' { // options that were blanked out before
		before--
	}
	switch first := toks[before]; {
	case first.text == "option" && after.text == ";", first.text == "," && after.text == "]":
		blank(b, first.at, after.at)
	case first.text == "[" && after.text == "]":
		blank(b, first.at, after.at+1)
	case after.text == ",":
		blank(b, toks[i].at, after.at+1)
	}
}

// blank makes blanks of a part of a text, in which lines stay lines.
func blank(b []byte, from, to int) {
	for i := from; i < to; i++ {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}

// raise makes a descriptor of edition 2024 of one of 2023. Definitions are counted in the
// order of the text, as lower has counted them: by where they stand, since a descriptor
// lists messages and enums apart.
func (l *lowered) raise(from *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	fd := proto.CloneOf(from)
	fd.Edition = descriptorpb.Edition_EDITION_2024.Enum()
	l.setVisibility(fd)
	deps, public := fd.Dependency, fd.PublicDependency
	fd.Dependency, fd.PublicDependency = nil, nil
	for i, name := range deps {
		if l.options[name] {
			fd.OptionDependency = append(fd.OptionDependency, name)
			continue
		}
		if slices.Contains(public, int32(i)) {
			// It holds indexes into Dependency, from which names were taken out.
			fd.PublicDependency = append(fd.PublicDependency, int32(len(fd.Dependency)))
		}
		fd.Dependency = append(fd.Dependency, name)
	}
	return fd
}

// A visible is a message or an enum with its place in the text.
type visible struct {
	line, col int32
	set       func(*descriptorpb.SymbolVisibility)
}

// setVisibility puts into the descriptor what lower has blanked out.
func (l *lowered) setVisibility(fd *descriptorpb.FileDescriptorProto) {
	if len(l.seen) == 0 {
		return
	}
	at := map[string][]int32{}
	for _, loc := range fd.GetSourceCodeInfo().GetLocation() {
		at[pathKey(loc.GetPath())] = loc.GetSpan()
	}
	var all []visible
	add := func(p []int32, set func(*descriptorpb.SymbolVisibility)) {
		// A span is line, column, perhaps a last line, and a last column.
		if span := at[pathKey(p)]; len(span) >= 2 {
			all = append(all, visible{span[0], span[1], set})
		}
	}
	const messagesOfFile, enumsOfFile, messagesOfMessage, enumsOfMessage = 4, 5, 3, 4
	var walk func(p []int32, m *descriptorpb.DescriptorProto)
	walk = func(p []int32, m *descriptorpb.DescriptorProto) {
		add(p, func(v *descriptorpb.SymbolVisibility) { m.Visibility = v })
		for i, e := range m.EnumType {
			add(append(slices.Clone(p), enumsOfMessage, int32(i)), func(v *descriptorpb.SymbolVisibility) { e.Visibility = v })
		}
		for i, n := range m.NestedType {
			// An entry of a map is a message that no word in the text stands for.
			if !n.GetOptions().GetMapEntry() {
				walk(append(slices.Clone(p), messagesOfMessage, int32(i)), n)
			}
		}
	}
	for i, e := range fd.EnumType {
		add([]int32{enumsOfFile, int32(i)}, func(v *descriptorpb.SymbolVisibility) { e.Visibility = v })
	}
	for i, m := range fd.MessageType {
		walk([]int32{messagesOfFile, int32(i)}, m)
	}
	slices.SortFunc(all, func(a, b visible) int {
		if a.line != b.line {
			return int(a.line - b.line)
		}
		return int(a.col - b.col)
	})
	for i, v := range l.seen {
		if i < len(all) {
			all[i].set(v.Enum())
		}
	}
}

// pathKey makes a key of a descriptor's path.
func pathKey(p []int32) string {
	b := make([]byte, 0, 4*len(p))
	for _, n := range p {
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return string(b)
}
