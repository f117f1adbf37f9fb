package gen

import (
	"crypto/sha256"
	"fmt"
	"go/format"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// An emitter writes one Go file, of the two that each IDL file becomes: the one
// of types, which a user reads, or the one of codecs, which the run time calls. It
// writes a body first and notes on the way what it imports; [emitter.source] puts
// the head before it.
//
// Lines are written without indentation: go/format makes it in the end.
type emitter struct {
	g       *generator
	f       *file
	back    backend // of the file's IDL
	b       strings.Builder
	imports map[string]string // import path -> name
}

// emitter begins a file of f.
func (g *generator) emitter(f *file) *emitter {
	return &emitter{g: g, f: f, back: g.back(f.File), imports: map[string]string{}}
}

// p writes a line, or several.
func (e *emitter) p(format string, args ...any) {
	fmt.Fprintf(&e.b, format, args...)
	e.b.WriteByte('\n')
}

// use imports one of the known packages and gives its name. Whoever writes a name of
// a package into a line must have called it, or the file does not compile.
func (e *emitter) use(name string) string {
	e.imports[imported[name]] = name
	return name
}

// name gives the Go name of a definition, or of a part of what is made from it:
// "" if it has none. names.go tells the parts.
func (e *emitter) name(decl any, part string) string { return e.g.names[key{decl, part}] }

// localNames are the variables of generated functions: a package of one of these
// names would be hidden by them.
const localNames = "args at b c call ctx d depth done e end err i impl in list more n ok p r req res rest result s slab target to v w x"

// at gives the name of a definition of file f, with its package if that is
// another one, which is imported then.
func (e *emitter) at(f *idl.File, decl any, part string) string {
	name, p := e.name(decl, part), e.g.files[f].pkg
	if p == e.f.pkg {
		return name
	}
	path := e.g.goPath(e.f.File, p)
	alias, ok := e.imports[path]
	if !ok {
		// A name without capitals is none that any file of this package declares.
		taken := newScope()
		for _, s := range strings.Fields(localNames) {
			taken[s] = true
		}
		for _, s := range e.imports {
			taken[s] = true
		}
		alias = taken.take(strings.ToLower(p.name))
		e.imports[path] = alias
	}
	return alias + "." + name
}

// sum tells versions of a file apart: by its text, or by its compiled form, which tools
// that have no text have as well.
func (f *file) sum() [sha256.Size]byte {
	if f.Compiled != nil {
		return sha256.Sum256(f.Compiled)
	}
	return sha256.Sum256([]byte(f.Text))
}

// source gives the whole file: the head that [madeFrom] knows, the package's doc
// comment where doc says so, imports and body, as gofmt has it.
func (e *emitter) source(doc, note string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, head+"%s from %s. DO NOT EDIT.\n", Version, filepath.Base(e.f.Path))
	fmt.Fprintf(&b, "// IDL: sha256:%x\n\n", e.f.sum())
	b.WriteString(comment(doc, ""))
	fmt.Fprintf(&b, "package %s\n\n%s\n%s\n", e.f.pkg.name, e.importBlock(), note)
	b.WriteString(e.b.String())
	src, err := format.Source([]byte(b.String()))
	if err != nil { // a mistake in this package; the text helps to find it
		return "", fmt.Errorf("%s: generated code is no Go: %w\n%s", e.f.Path, err, b.String())
	}
	return string(src), nil
}

// importBlock lists the standard library first, then the rest, as gofmt would sort
// them; "" if nothing is imported.
func (e *emitter) importBlock() string {
	if len(e.imports) == 0 {
		return ""
	}
	var std, rest []string
	for path, name := range e.imports {
		line := strconv.Quote(path)
		if path[strings.LastIndexByte(path, '/')+1:] != name {
			line = name + " " + line
		}
		// Not by its looks: a module may be called hello.
		if imported[name] != path || strings.Contains(path, ".") {
			rest = append(rest, line)
		} else {
			std = append(std, line)
		}
	}
	slices.Sort(std)
	slices.SortFunc(rest, func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
	})
	if len(std) > 0 {
		std = append(std, "")
	}
	return "import (\n" + strings.Join(append(std, rest...), "\n") + "\n)\n"
}

// comment makes a Go comment of a doc comment, with a line end behind it; "" of none.
func comment(doc, indent string) string {
	if doc == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(doc, "\n") {
		line = strings.TrimRight(strings.Map(visible, strings.ToValidUTF8(line, "?")), " \t")
		// The blank keeps a line that begins like a directive from being one.
		b.WriteString(strings.TrimRight(indent+"// "+line, " ") + "\n")
	}
	return b.String()
}

// visible keeps out of Go source what it may not have: control characters and byte
// order marks.
func visible(r rune) rune {
	if r < ' ' && r != '\t' || r == '\ufeff' {
		return ' '
	}
	return r
}

// doc writes a doc comment, and Deprecated if an annotation says so. Tools know that
// paragraph, and strike through what uses such a name.
func (e *emitter) doc(doc string, notes idl.Annotations) {
	if why, ok := notes.Find("deprecated"); ok {
		if why == "1" || why == "" {
			why = "the IDL says so."
		}
		if doc != "" {
			doc += "\n\n"
		}
		doc += "Deprecated: " + why
	}
	e.b.WriteString(comment(doc, ""))
}

// deprecated writes the paragraph alone, for what has its comment elsewhere.
func (e *emitter) deprecated(notes idl.Annotations) {
	if why, ok := notes.Find("deprecated"); ok {
		e.doc("", idl.Annotations{{Key: "deprecated", Value: why}})
	}
}

// schema embeds what a tool can ask a running program for: the text of the IDL,
// which the backend makes small. It is a function for each file, since files of one
// package may be generated by separate runs.
func (e *emitter) schema() {
	text, reader := e.back.schema(e.f)
	e.p("// %s gives the IDL of this file; %s reads it.", e.name(e.f.File, "idl"), reader)
	quoted := "`" + text + "`"
	if !strconv.CanBackquote(strings.ReplaceAll(text, "\n", "")) {
		quoted = strconv.Quote(text)
	}
	e.p("func %s() string {\nreturn %s\n}", e.name(e.f.File, "idl"), quoted)
}
