package dynamic

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/thrift"
)

const defaultBytes = 16 << 20

// A writer reads JSON token by token and appends Thrift. b is built in one
// piece, since the number of elements stands before them.
type writer struct {
	in   *json.Decoder
	b    []byte
	max  int
	path []step
}

// A step is a field's name, an index or a map's key on the way to a value.
type step struct {
	name string
	at   int // index, if name is empty
	key  bool
}

func newWriter(text []byte, limit int) *writer {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	if limit == 0 {
		limit = defaultBytes
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	return &writer{in: in, max: limit}
}

func (w *writer) errorf(format string, args ...any) error {
	var path strings.Builder
	for _, s := range w.path {
		switch {
		case s.key:
			fmt.Fprintf(&path, "[%.40q]", s.name)
		case s.name == "":
			fmt.Fprintf(&path, "[%d]", s.at)
		default:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(s.name)
		}
	}
	return &Error{Path: path.String(), Offset: int(w.in.InputOffset()), Why: fmt.Sprintf(format, args...)}
}

// token gives the next token; the end of the text is an error.
func (w *writer) token() (json.Token, error) {
	tok, err := w.in.Token()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, w.errorf("the JSON ends too early")
	case err != nil:
		return nil, w.errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return tok, nil
}

// message gives the Thrift form of the whole text.
func (w *writer) message(sh *shape, msg any) ([]byte, error) {
	var err error
	if r, ok := msg.(*Result); ok && sh.single {
		err = w.result(sh, r.Field)
	} else {
		var tok json.Token
		if tok, err = w.token(); err == nil {
			err = w.object(sh, tok, 1)
		}
		if err == nil {
			err = w.end()
		}
	}
	if err != nil {
		return nil, err
	}
	return w.b, nil
}

// result writes the struct of an answer with one field, or none.
func (w *writer) result(sh *shape, name string) error {
	if name != "" {
		f := sh.find(name)
		if f == nil {
			return w.errorf("%s has no field %q; %s", sh.name, name, sh.known())
		}
		w.path = append(w.path, step{name: name})
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
	w.b = append(w.b, byte(thrift.TypeStop))
	return nil
}

// end makes sure that nothing but white space follows.
func (w *writer) end() error {
	if _, err := w.in.Token(); !errors.Is(err, io.EOF) {
		return w.errorf("there is more after the end of the JSON value")
	}
	return nil
}

// describe names a token for an error.
func describe(tok json.Token) string {
	switch x := tok.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(x)
	case json.Number:
		return "the number " + x.String()
	case string:
		return fmt.Sprintf("the string %.40q", x)
	}
	if tok == json.Delim('{') {
		return "an object"
	}
	return "an array"
}

// object writes a struct whose first token is tok. depth is that of the struct.
func (w *writer) object(sh *shape, tok json.Token, depth int) error {
	if tok != json.Delim('{') {
		return w.errorf("%s is an object, not %s", sh.name, describe(tok))
	}
	if depth > maxDepth {
		return w.errorf("nested more than %d deep", maxDepth)
	}
	seen := make([]bool, len(sh.fields))
	count := 0
	for w.in.More() {
		tok, err := w.token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		i, ok := sh.byName[name]
		if !ok {
			return w.errorf("%s has no field %q; %s", sh.name, name, sh.known())
		}
		f := &sh.fields[i]
		w.path = append(w.path, step{name: name})
		if tok, err = w.token(); err != nil {
			return err
		}
		if seen[i] {
			return w.errorf("stands there twice")
		}
		if tok != nil { // null is absence
			seen[i] = true
			count++
			w.b = appendHead(w.b, f)
			if err := w.value(f.t, tok, depth+1); err != nil {
				return err
			}
		}
		w.path = w.path[:len(w.path)-1]
	}
	if _, err := w.token(); err != nil {
		return err
	}
	if sh.union && count != 1 {
		return w.errorf("the union %s has one member, not %d; %s", sh.name, count, sh.known())
	}
	if err := w.absent(sh, seen); err != nil {
		return err
	}
	w.b = append(w.b, byte(thrift.TypeStop))
	return w.fits()
}

// absent writes the defaults of fields that were not seen, and misses required
// ones.
func (w *writer) absent(sh *shape, seen []bool) error {
	if sh.union {
		return nil
	}
	for i := range sh.fields {
		switch f := &sh.fields[i]; {
		case seen[i]:
		case f.def != nil:
			w.b = append(appendHead(w.b, f), f.def...)
			if err := w.fits(); err != nil {
				return err
			}
		case f.required:
			return w.errorf("%s needs the field %q", sh.name, f.name)
		}
	}
	return nil
}

func (w *writer) fits() error {
	if len(w.b) > w.max {
		return w.errorf("the message is larger than %d bytes", w.max)
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

func (w *writer) list(t *typ, tok json.Token, depth int) error {
	if tok != json.Delim('[') {
		return w.errorf("%s is an array, not %s", t.text, describe(tok))
	}
	if depth > maxDepth {
		return w.errorf("nested more than %d deep", maxDepth)
	}
	w.b = append(w.b, byte(t.elem.wire), 0, 0, 0, 0)
	at, n := len(w.b)-4, 0
	w.path = append(w.path, step{})
	for ; w.in.More(); n++ {
		w.path[len(w.path)-1].at = n
		tok, err := w.token()
		if err == nil {
			err = w.value(t.elem, tok, depth+1)
		}
		if err == nil {
			err = w.fits()
		}
		if err != nil {
			return err
		}
	}
	w.path = w.path[:len(w.path)-1]
	binary.BigEndian.PutUint32(w.b[at:], uint32(n))
	_, err := w.token()
	return err
}

// entries writes a map: an object, or an array of key and value.
func (w *writer) entries(t *typ, tok json.Token, depth int) error {
	if tok != json.Delim('{') && tok != json.Delim('[') {
		return w.errorf("%s is an object or an array of {\"key\", \"value\"}, not %s", t.text, describe(tok))
	}
	if tok == json.Delim('{') && !t.key.scalar() {
		return w.errorf("%s is an array of {\"key\", \"value\"}, because its keys are no scalars", t.text)
	}
	if depth > maxDepth {
		return w.errorf("nested more than %d deep", maxDepth)
	}
	w.b = append(w.b, byte(t.key.wire), byte(t.elem.wire), 0, 0, 0, 0)
	at, n := len(w.b)-4, 0
	w.path = append(w.path, step{})
	for ; w.in.More(); n++ {
		var err error
		if tok == json.Delim('{') {
			err = w.member(t, depth)
		} else {
			w.path[len(w.path)-1] = step{at: n}
			err = w.pair(t, depth)
		}
		if err == nil {
			err = w.fits()
		}
		if err != nil {
			return err
		}
	}
	w.path = w.path[:len(w.path)-1]
	binary.BigEndian.PutUint32(w.b[at:], uint32(n))
	_, err := w.token()
	return err
}

// member writes an entry whose key is the name of an object's member.
func (w *writer) member(t *typ, depth int) error {
	tok, err := w.token()
	if err != nil {
		return err
	}
	name, _ := tok.(string)
	w.path[len(w.path)-1] = step{name: name, key: true}
	var key json.Token = name
	if t.key.kind == idl.Bool {
		switch name {
		case "true", "false":
			key = name == "true"
		}
	}
	if err := w.scalar(t.key, key); err != nil {
		return err
	}
	if tok, err = w.token(); err != nil {
		return err
	}
	return w.value(t.elem, tok, depth+1)
}

// pair writes an entry that is an object with key and value, in this order:
// both are written as they come.
func (w *writer) pair(t *typ, depth int) error {
	const shapeOf = `an entry is {"key": …, "value": …}, in this order`
	tok, err := w.token()
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return w.errorf("%s, not %s", shapeOf, describe(tok))
	}
	for i, part := range [2]*typ{t.key, t.elem} {
		if tok, err = w.token(); err != nil {
			return err
		}
		if tok != [2]string{"key", "value"}[i] {
			return w.errorf("%s", shapeOf)
		}
		if tok, err = w.token(); err != nil {
			return err
		}
		if err := w.value(part, tok, depth+1); err != nil {
			return err
		}
	}
	if tok, err = w.token(); err == nil && tok != json.Delim('}') {
		return w.errorf("%s", shapeOf)
	}
	return err
}
