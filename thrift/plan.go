package thrift

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A kind says how a Go value is laid out and how it goes on the wire. It is
// what the loops of encoder and decoder switch on.
type kind uint8

const (
	kBool kind = iota
	k1         // int8
	k2         // int16
	k4         // int32 and enums
	k8         // int64 and float64
	kUUID
	kString
	kBytes
	kStruct // a pointer to a struct
	kUnion  // a sealed interface
	kList   // a slice or a Set
	kMap
	kPairs
	kPointer // a pointer to one of kBool to kString: a struct's field only
)

// An op is one field of a struct: 32 bytes, two to a cache line.
type op struct {
	head   uint32 // as on the wire: the type, then the id in two bytes
	offset uint32 // in the struct
	kind   kind
	need   need
	name   uint16 // index into plan.names and plan.said
	t      *typ
	bit    uint64 // of a required field, else 0; for decoding
}

// need says what an absent value means to the encoder.
type need uint8

const (
	byDefault need = iota // nil containers are written as empty ones
	required              // and other nils are errors
	optional              // nil is not written
)

// A plan is a struct type, ready to be encoded and decoded. It is constant
// once compile has returned it, but for presetCost.
type plan struct {
	rt     reflect.Type // the struct
	size   int
	ops    []op           // in the order of the Go fields, which is the order on the wire
	names  []string       // of the Go fields
	said   []string       // of the fields in the IDL, for what a peer may read
	byID   []uint16       // index into ops plus one, for ids below len(byID)
	others map[uint16]int // index into ops plus one, for the rest; nil if there is no rest
	bits   uint64         // all bits of ops
	wide   bool           // more than 64 required fields: bits do not suffice
	slab   int            // how many structs of a list are made at once
	slices reflect.Type   // []struct, for slabs
	preset uintptr        // itab of *struct as a defaulter; 0: no defaults
	made   uintptr        // itab of *struct as a generated; 0: no generated methods

	runs  []run    // of ops, for the typed skip
	runAt []uint32 // index plus one of the run that begins with an op
	plain bool     // no field has fields or elements

	of     *plan   // of a view: the struct that it shows; such a plan has no ops
	lazyAt uintptr // of a view: offset of its Lazy
	views  bool    // is a view, or has one within that is in no container

	presetCost atomic.Int64 // one more than the memory of the defaults; 0: not known yet, see defaultsCost

	ours  []stretch // where the fields are in the struct
	apart bool      // while it is compiled: the last field was none of Thrift's

	unknown uintptr // one more than the offset of the field of type Unknown; 0: there is none
}

// A typ is the type of a field or an element.
type typ struct {
	kind  kind
	wire  Type
	size  int // in Go
	rt    reflect.Type
	elem  *typ // of lists and kPointer; a map's value
	key   *typ
	plan  *plan     // of kStruct
	cases []variant // of kUnion

	// Indexes of cases where there are many of them, else nil.
	byHead map[uint32]int
	byItab map[uintptr]int

	maps mapKind

	// Pairs: their element's type and where in it the value is.
	pair   reflect.Type
	pairAt uintptr
}

// A variant is one case of a union: a struct of one field.
type variant struct {
	itab uintptr // of the struct's pointer as the interface
	plan *plan
}

// face is the layout of an interface with methods.
type face struct {
	itab uintptr // itabs are never moved or freed
	data unsafe.Pointer
}

// slice is the layout of every slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// A defaulter is a generated struct with default values.
type defaulter interface{ SetDefaults() }

// setDefaults sets the defaults of the fresh struct at p.
func (pl *plan) setDefaults(p unsafe.Pointer) {
	f := face{pl.preset, p}
	// Safety: p points to a pl.rt, and preset is the itab of *pl.rt for defaulter.
	(*(*defaulter)(unsafe.Pointer(&f))).SetDefaults()
}

// find gives the op for a field header that is not the predicted one, and the
// index after it; nil for a field that the struct does not have, or has with
// another type.
func (pl *plan) find(head uint32) (*op, int) {
	i := 0
	if id := uint16(head); int(id) < len(pl.byID) {
		i = int(pl.byID[id])
	} else if pl.others != nil {
		i = pl.others[id]
	}
	if i == 0 || pl.ops[i-1].head != head {
		return nil, 0
	}
	return &pl.ops[i-1], i
}

// memo remembers the plans of all types that were used. It is the one piece of
// package state: a plan depends on its type only, so that who asks first makes
// no difference, and types live for ever. A zero Binary could not carry it.
type memo struct {
	table atomic.Pointer[table]
	mu    struct {
		sync.Mutex
		plans map[reflect.Type]*plan // by struct type
	}
}

var plans memo

// A table is an open-addressed map from pointer types to plans that is never
// written after it was published; it costs 2 ns where sync.Map costs 15. Its
// length is a power of two, at most half of it is taken.
type table struct {
	slots []slot
	taken int
}

type slot struct {
	typ  unsafe.Pointer // the type word of an interface that holds a *struct
	plan *plan
}

// hash mixes an address; types are aligned, so that the low bits say little.
func (t *table) hash(p unsafe.Pointer) int {
	// Safety: the address is hashed only. Types do not move.
	return int(uint64(uintptr(p))*0x9e3779b97f4a7c15>>33) & (len(t.slots) - 1)
}

func (t *table) find(p unsafe.Pointer) *plan {
	for i := t.hash(p); ; i = (i + 1) & (len(t.slots) - 1) {
		if s := &t.slots[i]; s.typ == p || s.typ == nil {
			return s.plan
		}
	}
}

// with gives a copy of t, which may be nil, that has one more plan.
func (t *table) with(p unsafe.Pointer, pl *plan) *table {
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
	for _, s := range append(old[:len(old):len(old)], slot{p, pl}) {
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

// planOf gives the plan for msg, a pointer to a struct, and that pointer.
func planOf(msg any) (*plan, unsafe.Pointer, error) {
	// Safety: every empty interface is these two words, and of a pointer type
	// the second one is the pointer.
	w := *(*words)(unsafe.Pointer(&msg))
	if t := plans.table.Load(); t != nil && w.data != nil {
		if pl := t.find(w.typ); pl != nil {
			return pl, w.data, nil
		}
	}
	pl, err := plans.add(msg, w.typ)
	return pl, w.data, err
}

// add compiles the plan for msg's type, or finds that msg cannot have one.
func (m *memo) add(msg any, typ unsafe.Pointer) (*plan, error) {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Kind() != reflect.Struct {
		return nil, &TypeError{Type: reflect.TypeOf(msg), Why: "a message is a pointer to a struct"}
	}
	if v.IsNil() {
		return nil, &TypeError{Type: v.Type(), Why: "the message is nil"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	pl, err := m.compileLocked(v.Type().Elem())
	if err != nil {
		return nil, err
	}
	if t := m.table.Load(); t == nil || t.find(typ) == nil {
		m.table.Store(t.with(typ, pl))
	}
	return pl, nil
}

// compileLocked makes the plan of a struct and of all that it refers to; they
// become known together or, if one of them has a fault, not at all.
func (m *memo) compileLocked(rt reflect.Type) (*plan, error) {
	c := compiler{known: m.mu.plans, plans: map[reflect.Type]*plan{}, types: map[reflect.Type]*typ{}}
	pl, err := c.plan(rt)
	if err == nil {
		err = c.checkUnions()
	}
	if err != nil {
		return nil, err
	}
	findViews(c.plans)
	if m.mu.plans == nil {
		m.mu.plans = map[reflect.Type]*plan{}
	}
	for rt, pl := range c.plans {
		m.mu.plans[rt] = pl
	}
	return pl, nil
}
