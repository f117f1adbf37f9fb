package dynamic

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

const (
	defaultBytes = 16 << 20
	// headroom is more than any scalar takes with the header of its field.
	headroom = 32
)

// A writer reads JSON token by token and appends Thrift to an Out. The number
// of elements stands before them and is patched afterwards.
//
// It writes while it reads. So nothing of a message is held but what is open, and a fault
// that is found late has to be taken back: message truncates the Out.
type writer struct {
	in   json.Scanner
	out  *buf.Out
	b    []byte // the block of out that is being filled
	sent int    // bytes that were committed to out
	max  int
	path []step
	seen []bool // of the structs that are open: which fields were there; beyond its length it has no true
	here []int  // of the structs that are open: the fields that were there
	raw  []byte // of binary, decoded

	seenRoom [64]bool // for what most messages need, so that it takes no allocations
	hereRoom [32]int
}

// A step is a field's name, an index or a map's key on the way to a value.
type step struct {
	name string
	at   int // index; of a key its offset in the text
	kind stepKind
}

// A stepKind is how a step is shown: .name, [3] or ["key"].
type stepKind uint8

const (
	byName stepKind = iota
	byIndex
	byKey
)

// newWriter makes a writer of text, which is borrowed, to the end of out. An empty text is an object
// without members. limit is how many bytes the message may have, 0 for the default: a default
// of the IDL may be far longer than the text that asks for it.
func newWriter(out *buf.Out, text []byte, limit int) *writer {
	if limit == 0 {
		limit = defaultBytes
	}
	w := &writer{in: json.Scanner{Text: text}, out: out, max: limit}
	w.seen, w.here = w.seenRoom[:0], w.hereRoom[:0]
	if w.in.Peek(); w.in.At == len(text) {
		w.in = json.Scanner{Text: []byte("{}")}
	}
	return w
}

// errorf makes the error of what stands at an offset of the text.
//
// The path is put together only now: the way to a value is noted without a string being
// made.
func (w *writer) errorf(at int, format string, args ...any) error {
	var path strings.Builder
	for _, s := range w.path {
		switch s.kind {
		case byKey:
			in := json.Scanner{Text: w.in.Text, At: s.at}
			text, _ := in.Quoted() // it was read before
			fmt.Fprintf(&path, "[%.40q]", text)
		case byIndex:
			fmt.Fprintf(&path, "[%d]", s.at)
		default:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(s.name)
		}
	}
	return &Error{Path: path.String(), Offset: at, Why: fmt.Sprintf(format, args...)}
}

// syntax makes the error of what is no JSON, with the path as far as it was read.
func (w *writer) syntax(bad *json.Fault) error { return w.errorf(bad.At, "%s", bad.Why) }

// token gives the token that the next value begins with.
func (w *writer) token() (json.Token, error) {
	tok, bad := w.in.Value()
	if bad != nil {
		return tok, w.syntax(bad)
	}
	return tok, nil
}

// room makes sure that n bytes fit in the block, n at most headroom.
func (w *writer) room(n int) {
	if cap(w.b)-len(w.b) < n {
		w.sent += len(w.b)
		w.b = w.out.Next(w.b)
	}
}

// commit hands the block back; lend gets one again.
func (w *writer) commit() {
	w.sent += len(w.b)
	w.out.Commit(w.b)
	w.b = nil
}

// lend gets the block that is filled next.
func (w *writer) lend() { w.b = w.out.Block() }

// bytes appends the length of p and a copy of it.
func (w *writer) bytes(p []byte) {
	w.room(headroom)
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(len(p)))
	w.plain(p)
}

// plain appends a copy of p.
func (w *writer) plain(p []byte) {
	if len(p) <= cap(w.b)-len(w.b) {
		w.b = append(w.b, p...)
		return
	}
	w.commit()
	w.sent += len(p)
	w.out.Append(p)
	w.lend()
}

// reserve makes place for a number of elements.
func (w *writer) reserve() buf.Mark {
	w.commit()
	w.sent += 4
	m := w.out.Reserve(4)
	w.lend()
	return m
}

// patch writes the number of elements to where reserve has made place; 0 stands there already.
//
// It goes through the Out, since the number may lie in a block that is full.
func (w *writer) patch(m buf.Mark, n int) {
	if n == 0 {
		return
	}
	w.commit()
	w.out.Patch(m, binary.BigEndian.AppendUint32(nil, uint32(n)))
	w.lend()
}

// fits refuses a message that has become too large; at is the value that did it.
//
// It is asked behind each value that may be long and behind each element, so that what is
// written beyond the limit is one value.
func (w *writer) fits(at int) error {
	if w.sent+len(w.b) > w.max {
		return w.errorf(at, "the message is larger than %d bytes", w.max)
	}
	return nil
}

// message appends the Thrift form of the whole text; with an error the Out is
// as it was.
func (w *writer) message(sh *shape, msg any) error {
	begin := w.out.Mark()
	w.lend()
	err := w.whole(sh, msg)
	w.out.Commit(w.b)
	if err != nil {
		w.out.Truncate(begin)
	}
	return err
}

// whole writes a struct, or of an answer the one field that msg names.
func (w *writer) whole(sh *shape, msg any) error {
	if r, ok := msg.(*Result); ok && sh.single {
		return w.result(sh, r.Field)
	}
	tok, err := w.token()
	if err == nil {
		err = w.object(sh, tok, 1)
	}
	if err == nil {
		err = w.end()
	}
	return err
}

// result writes the struct of an answer with one field, or none.
func (w *writer) result(sh *shape, name string) error {
	if name != "" {
		f := sh.find(name)
		if f == nil {
			return w.errorf(0, "%s has no field %q; %s", sh.name, name, sh.known())
		}
		w.path = append(w.path, step{name: name})
		w.room(headroom)
		w.b = appendHead(w.b, f)
		tok, err := w.token()
		if err == nil {
			err = w.value(f.t, tok, 2)
		}
		if err == nil {
			err = w.end()
		}
		if err != nil {
			return err
		}
	}
	w.stop()
	return nil
}

// stop ends a struct.
func (w *writer) stop() {
	w.room(1)
	w.b = append(w.b, byte(raw.TypeStop))
}

// end makes sure that nothing but white space follows.
func (w *writer) end() error {
	if w.in.Peek(); w.in.At < len(w.in.Text) {
		return w.errorf(w.in.At, "there is more after the end of the JSON value")
	}
	return nil
}

// object writes a struct whose first token is tok. depth is that of the struct.
//
// That a member stands there twice is an error here, while on the wire the last one
// counts: text is written by people.
func (w *writer) object(sh *shape, tok json.Token, depth int) error {
	if tok.Kind != '{' {
		return w.errorf(tok.At, "%s is an object, not %s", sh.name, tok)
	}
	if depth > maxDepth {
		return w.errorf(tok.At, "nested more than %d deep", maxDepth)
	}
	base, ours := len(w.seen), len(w.here)
	w.seen = slices.Grow(w.seen, len(sh.fields))
	w.seen = w.seen[:base+len(sh.fields)]
	// Members come in the order of the IDL as a rule: the name behind the last is compared before the
	// table is asked.
	count, guess := 0, 0
	for first := true; ; first = false {
		more, bad := w.in.More(first, '}')
		if bad != nil {
			return w.syntax(bad)
		}
		if !more {
			break
		}
		name, bad := w.in.Name()
		if bad != nil {
			return w.syntax(bad)
		}
		i := guess
		if i >= len(sh.fields) || sh.fields[i].name != string(name.Text) {
			var ok bool
			if i, ok = sh.byName[string(name.Text)]; !ok {
				return w.errorf(name.At, "%s has no field %.40q; %s", sh.name, name.Text, sh.known())
			}
		}
		guess = i + 1
		there, err := w.field(&sh.fields[i], w.seen[base+i], name.At, depth)
		if err != nil {
			return err
		}
		if there {
			w.seen[base+i] = true
			w.here = append(w.here, i)
			count++
		}
	}
	if sh.union && count != 1 {
		return w.errorf(tok.At, "the union %s has one member, not %d; %s", sh.name, count, sh.known())
	}
	if err := w.absent(sh, w.seen[base:], tok.At); err != nil {
		return err
	}
	// Only what was set is cleared: a struct of a thousand fields costs what the text has of it.
	for _, i := range w.here[ours:] {
		w.seen[base+i] = false
	}
	w.seen, w.here = w.seen[:base], w.here[:ours]
	w.stop()
	return w.fits(w.in.At)
}

// field writes the field whose name was read at an offset. null is absence.
func (w *writer) field(f *field, seen bool, at, depth int) (there bool, err error) {
	w.path = append(w.path, step{name: f.name})
	tok, err := w.token()
	switch {
	case err != nil:
		return false, err
	case seen:
		return false, w.errorf(at, "stands there twice")
	case tok.Kind != 'n': // null says that it is not there
		w.room(headroom)
		w.b = appendHead(w.b, f)
		if err := w.value(f.t, tok, depth+1); err != nil {
			return false, err
		}
		there = true
	}
	w.path = w.path[:len(w.path)-1]
	return there, nil
}

// absent writes the defaults of fields that were not seen, and misses required
// ones.
func (w *writer) absent(sh *shape, seen []bool, at int) error {
	if sh.union {
		return nil
	}
	for _, i := range sh.due {
		switch f := &sh.fields[i]; {
		case seen[i]:
		case f.def != nil:
			w.room(headroom)
			w.b = appendHead(w.b, f)
			w.plain(f.def)
			if err := w.fits(at); err != nil {
				return err
			}
		case f.required:
			return w.errorf(at, "%s needs the field %q", sh.name, f.name)
		}
	}
	return nil
}

// value writes a value whose first token is tok. depth is that of the value,
// if it has one.
func (w *writer) value(t *typ, tok json.Token, depth int) error {
	switch t.kind {
	case idl.List, idl.Set:
		return w.list(t, tok, depth)
	case idl.Map:
		return w.entries(t, tok, depth)
	case idl.StructRef:
		return w.object(t.shape, tok, depth)
	}
	return w.scalar(t, tok)
}
