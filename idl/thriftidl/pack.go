package thriftidl

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// Packed text is what generated code carries with it, so that a tool can ask a running
// program what it speaks. It is IDL: small, to be read by people, and by this reader
// in another version too. Each file is a line with its name, then its definitions:
//
//	#file shop/shop.thrift
//	namespace go shop
//	include"shared/shared.thrift"
//	struct Item{1:string name,2:shared.Price price}
//
// Whoever reads such a text has it from a peer: Unpack trusts it no more than any
// other file, and reads nothing from the disk.

// packHead begins each file of a packed schema. It is a comment, so that a
// packed file is still a file of the language.
const packHead = "#file "

// Pack gives a file without comments, a definition to a line, under the name
// that name gives it; its includes are named likewise. The names must be relative
// paths with slashes, one for each file. Packed files can be joined in any order;
// Unpack reads them. f must come from a [Reader].
func Pack(f *idl.File, name func(*idl.File) string) string {
	var b strings.Builder
	b.WriteString(packHead + name(f) + "\n")
	toks, last, depth, include := scan(f.Text), tokEOF, 0, 0
	for i, t := range toks {
		switch t.kind {
		case tokEOF, tokBad:
			b.WriteByte('\n')
			return b.String()
		case '{', '(', '[', '<':
			depth++
		case '}', ')', ']', '>':
			depth--
		}
		if i > 0 && depth == 0 && startsLine(&t) {
			b.WriteByte('\n')
			last = tokEOF
		}
		if needsSpace(last, t.kind) {
			b.WriteByte(' ')
		}
		switch {
		case t.kind == tokLiteral && include < len(f.Includes) && t.pos == f.Includes[include].Pos:
			b.WriteString(quote(name(f.Includes[include].File)))
			include++
		case t.kind == tokLiteral:
			b.WriteString(quote(t.text))
		default:
			b.WriteString(t.text)
		}
		last = t.kind
	}
	return b.String()
}

// startsLine tells the words that begin a header or a definition. None of them
// can stand elsewhere outside of brackets.
func startsLine(t *token) bool {
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "include", "cpp_include", "namespace", "const", "typedef", "enum", "senum", "struct", "union", "exception", "service":
		return true
	}
	return false
}

// needsSpace tells tokens that would grow together. A literal has its quotes, and
// between two symbols nothing can go wrong.
func needsSpace(a, b tokenKind) bool {
	word := func(k tokenKind) bool { return k == tokName || k == tokInt || k == tokDouble }
	return word(a) && word(b)
}

// quote writes a string with the escapes that the language has.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// Unpack reads what Pack made, of one file or of several joined. A file that
// is there twice counts once, which is the first one: services join the texts of all
// that they include. All files are listed ones. An error is an idl.Errors if it is
// one of the IDL.
func Unpack(packed string) (*idl.Schema, error) {
	files := map[string]string{}
	var names []string
	var b strings.Builder
	name := ""
	flush := func() {
		if _, twice := files[name]; name != "" && !twice {
			files[name] = b.String()
			names = append(names, name)
		}
		b.Reset()
	}
	lines := bufio.NewScanner(strings.NewReader(packed))
	lines.Buffer(nil, len(packed)+1)
	for lines.Scan() {
		if next, ok := strings.CutPrefix(lines.Text(), packHead); ok {
			flush()
			if name = path.Clean(next); name == "." || !filepath.IsLocal(name) || len(next) > maxName {
				return nil, fmt.Errorf("idl: %.100q is no name for a packed file", next)
			}
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("idl: a packed schema begins with %q and a name", packHead)
		}
		b.WriteString(lines.Text() + "\n")
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	flush()
	if len(names) == 0 {
		return nil, errors.New("idl: the packed schema is empty")
	}
	// Names are paths from the root, wherever the including file is.
	t := Reader{Include: []string{"."}, Open: func(p string) ([]byte, error) {
		if text, ok := files[filepath.ToSlash(p)]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
	return t.Load(names...)
}
