package shape

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Memo remembers the Structs of all types that were used with one set of Rules. What a
// type is depends on the type only, so that who asks first makes no
// difference, and types live for ever: that is why it may be a package's variable.
type Memo struct {
	Rules Rules // set before the first use, then constant

	table atomic.Pointer[table]
	mu    struct {
		sync.Mutex
		known map[reflect.Type]*Struct // by struct type
	}
}

// A table is an open-addressed map from pointer types to Structs that is never
// written after it was published; it costs 2 ns where sync.Map costs 15. Its
// length is a power of two, at most half of it is taken.
type table struct {
	slots []slot
	taken int
}

// A slot of the table holds one known type.
type slot struct {
	typ unsafe.Pointer // the type word of an interface that holds a *struct
	s   *Struct
}

// hash mixes an address; types are aligned, so that the low bits say little.
func (t *table) hash(p unsafe.Pointer) int {
	// Safety: the address is hashed only. Types do not move.
	return int(uint64(uintptr(p))*0x9e3779b97f4a7c15>>33) & (len(t.slots) - 1)
}

// find gives the struct of the type p, nil if it is not known. It takes no lock: a table is never changed once
// it can be seen.
func (t *table) find(p unsafe.Pointer) *Struct {
	for i := t.hash(p); ; i = (i + 1) & (len(t.slots) - 1) {
		if s := &t.slots[i]; s.typ == p || s.typ == nil {
			return s.s
		}
	}
}

// with gives a copy of t, which may be nil, that has one more Struct.
func (t *table) with(p unsafe.Pointer, st *Struct) *table {
	fresh := &table{}
	var old []slot
	if t != nil {
		old, fresh.taken = t.slots, t.taken
	}
	fresh.taken++
	n := 64
	for n < 2*fresh.taken {
		n *= 2
	}
	fresh.slots = make([]slot, n)
	for _, s := range append(old[:len(old):len(old)], slot{p, st}) {
		if s.typ == nil {
			continue
		}
		i := fresh.hash(s.typ)
		for fresh.slots[i].typ != nil {
			i = (i + 1) & (n - 1)
		}
		fresh.slots[i] = s
	}
	return fresh
}

// words is the layout of an interface without methods.
type words struct{ typ, data unsafe.Pointer }

// Data is the pointer that x holds, which may be nil.
func Data(x any) unsafe.Pointer {
	// Safety: every empty interface is these two words, and of a pointer type the
	// second one is the pointer.
	return (*words)(unsafe.Pointer(&x)).data
}

// Known gives the Struct for msg if its type was used before, else nil. It is the fast path of
// Of, small enough to be inlined.
func (m *Memo) Known(msg any) *Struct {
	if t := m.table.Load(); t != nil {
		// Safety: as in Data; the first word is the type.
		return t.find((*words)(unsafe.Pointer(&msg)).typ)
	}
	return nil
}

// Of gives the Struct for msg, a pointer to a struct, and that pointer; of a [Made] its own. Errors are a *TypeError.
func (m *Memo) Of(msg any) (*Struct, unsafe.Pointer, error) {
	p := Data(msg)
	if s := m.Known(msg); s != nil && p != nil {
		return s, p, nil
	}
	if x, ok := msg.(Made); ok && p != nil {
		return m.made(x)
	}
	s, err := m.add(msg, (*words)(unsafe.Pointer(&msg)).typ) // Safety: as in Data.
	return s, p, err
}

// add compiles the Struct for msg's type, or finds that msg cannot have one.
func (m *Memo) add(msg any, typ unsafe.Pointer) (*Struct, error) {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Kind() != reflect.Struct {
		return nil, &TypeError{Type: reflect.TypeOf(msg), Why: "a message is a pointer to a struct"}
	}
	if v.IsNil() {
		return nil, &TypeError{Type: v.Type(), Why: "the message is nil"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.compileLocked(v.Type().Elem())
	if err != nil {
		return nil, err
	}
	if t := m.table.Load(); t == nil || t.find(typ) == nil {
		m.table.Store(t.with(typ, s))
	}
	return s, nil
}

// compileLocked makes the Struct of a type and of all that it refers to; they
// become known together or, if one of them has a fault, not at all.
func (m *Memo) compileLocked(rt reflect.Type) (*Struct, error) {
	c := compiler{rules: m.Rules, known: m.mu.known, structs: map[reflect.Type]*Struct{}, types: map[reflect.Type]*Type{}}
	s, err := c.structure(rt)
	if err == nil {
		err = c.checkUnions()
	}
	if err == nil {
		err = m.Rules.Complete(c.order)
	}
	if err != nil {
		return nil, err
	}
	if m.mu.known == nil {
		m.mu.known = map[reflect.Type]*Struct{}
	}
	for rt, s := range c.structs {
		m.mu.known[rt] = s
	}
	return s, nil
}
