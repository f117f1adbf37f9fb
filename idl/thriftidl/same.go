package thriftidl

import "github.com/limosa-rpc/limosa/idl"

// types numbers types, so that two are the same if their numbers are. Each type
// of a schema is looked into once, however many typedefs lead to it: those that
// double what the one before them stands for make very much of a few lines. After
//
//	typedef map<T0, T0> T1
//	typedef map<T1, T1> T2
//	…
//
// T40 stands for 2 to the 40th types, and comparing two of them by going down would
// never end.
type types struct {
	ids   map[*idl.Type]int
	known map[typeKey]int
	looks int // how often a type was asked for; a test bounds it
}

// typeKey is a type by the numbers of what it is made of; 0 stands for none. Enums and
// structs are what they are by their definition, not by what is in them: two structs
// with the same fields are two types.
type typeKey struct {
	kind      idl.Kind
	enum      *idl.Enum
	of        *idl.Struct
	key, elem int
}

func newTypes() *types { return &types{ids: map[*idl.Type]int{}, known: map[typeKey]int{}} }

// id gives a type's number; that of nil is 0.
func (s *types) id(t *idl.Type) int {
	s.looks++
	if t = t.True(); t == nil {
		return 0
	}
	if id := s.ids[t]; id != 0 {
		return id
	}
	k := typeKey{kind: t.Kind, enum: t.Enum, of: t.Struct, key: s.id(t.Key), elem: s.id(t.Elem)}
	id := s.known[k]
	if id == 0 {
		id = len(s.known) + 1
		s.known[k] = id
	}
	s.ids[t] = id
	return id
}

// same compares types with typedefs followed. nil, which stands for void, is the same
// as nil.
func (s *types) same(a, b *idl.Type) bool { return s.id(a) == s.id(b) }
