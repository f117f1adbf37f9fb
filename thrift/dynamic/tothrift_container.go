package dynamic

import (
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/json"
)

// list writes a list or a set: the type of the elements, their number, which is known
// when the text ends, and the elements. null is no element.
func (w *writer) list(t *typ, tok json.Token, depth int) error {
	if tok.Kind != '[' {
		return w.errorf(tok.At, "%s is an array, not %s", t.text, tok)
	}
	if depth > maxDepth {
		return w.errorf(tok.At, "nested more than %d deep", maxDepth)
	}
	w.room(headroom)
	w.b = append(w.b, byte(t.elem.wire))
	at, n := w.reserve(), 0
	w.path = append(w.path, step{kind: byIndex})
	for ; ; n++ {
		more, bad := w.in.More(n == 0, ']')
		if bad != nil {
			return w.syntax(bad)
		}
		if !more {
			break
		}
		w.path[len(w.path)-1].at = n
		elem, err := w.token()
		if err == nil {
			err = w.value(t.elem, elem, depth+1)
		}
		if err == nil {
			err = w.fits(w.in.At)
		}
		if err != nil {
			return err
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.patch(at, n)
	return nil
}

// entries writes a map: an object, or an array of key and value.
//
// Keys are not compared: of one that comes twice both are sent, and the receiver's last
// one counts.
func (w *writer) entries(t *typ, tok json.Token, depth int) error {
	end := byte('}')
	switch {
	case tok.Kind == '[':
		end = ']'
	case tok.Kind != '{':
		return w.errorf(tok.At, "%s is an object or an array of {\"key\", \"value\"}, not %s", t.text, tok)
	case !t.key.scalar():
		return w.errorf(tok.At, "%s is an array of {\"key\", \"value\"}, because its keys are no scalars", t.text)
	}
	if depth > maxDepth {
		return w.errorf(tok.At, "nested more than %d deep", maxDepth)
	}
	w.room(headroom)
	w.b = append(w.b, byte(t.key.wire), byte(t.elem.wire))
	at, n := w.reserve(), 0
	w.path = append(w.path, step{})
	for ; ; n++ {
		more, bad := w.in.More(n == 0, end)
		if bad != nil {
			return w.syntax(bad)
		}
		if !more {
			break
		}
		var err error
		if end == '}' {
			err = w.member(t, depth)
		} else {
			w.path[len(w.path)-1] = step{at: n, kind: byIndex}
			err = w.pair(t, depth)
		}
		if err == nil {
			err = w.fits(w.in.At)
		}
		if err != nil {
			return err
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.patch(at, n)
	return nil
}

// member writes an entry whose key is the name of an object's member.
//
// Every scalar may be a name; it is read by the rules for its text.
func (w *writer) member(t *typ, depth int) error {
	w.path = w.path[:len(w.path)-1] // of a name that is none there is no path
	name, bad := w.in.Name()
	if bad != nil {
		return w.syntax(bad)
	}
	w.path = append(w.path, step{at: name.At, kind: byKey})
	if t.key.kind == idl.Bool {
		switch string(name.Text) {
		case "true", "false":
			name.Kind = name.Text[0]
		}
	}
	if err := w.scalar(t.key, name); err != nil {
		return err
	}
	tok, err := w.token()
	if err != nil {
		return err
	}
	return w.value(t.elem, tok, depth+1)
}

// pair writes an entry that is an object with key and value, in this order:
// both are written as they come.
//
// Another order would take both to be kept, or the text to be read twice.
func (w *writer) pair(t *typ, depth int) error {
	const shapeOf = `an entry is {"key": …, "value": …}, in this order`
	tok, err := w.token()
	if err != nil {
		return err
	}
	if tok.Kind != '{' {
		return w.errorf(tok.At, "%s, not %s", shapeOf, tok)
	}
	for i, part := range [2]*typ{t.key, t.elem} {
		more, bad := w.in.More(i == 0, '}')
		var name json.Token
		if more && bad == nil {
			name, bad = w.in.Name()
		}
		if bad != nil {
			return w.syntax(bad)
		}
		if !more || string(name.Text) != [2]string{"key", "value"}[i] {
			return w.errorf(tok.At, "%s", shapeOf)
		}
		elem, err := w.token()
		if err == nil {
			err = w.value(part, elem, depth+1)
		}
		if err != nil {
			return err
		}
	}
	more, bad := w.in.More(false, '}')
	if bad != nil {
		return w.syntax(bad)
	}
	if more {
		return w.errorf(tok.At, "%s", shapeOf)
	}
	return nil
}
