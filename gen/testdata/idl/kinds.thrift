// Every way in which generated code handles a field, in every order.
namespace go kinds

enum Kind { NONE, ONE, TWO = 40000 }

struct Leaf {
  1: bool live
  2: i8 tiny
  3: i16 short
  4: Kind kind
  300: i64 far
  -7: double back
  8: uuid id
  9: string text
  10: binary blob
}

// Scalars that must be there, and optional ones between them.
struct Needs {
  1: required i64 a
  2: required string b
  3: optional i32 c
  4: required Leaf d
  5: required list<i32> e
  6: optional list<string> f
  7: required map<string, i64> g
  8: required list<Leaf> h
  9: optional set<Leaf> i
  10: optional bool j
  11: required bool k
  12: optional string l = "l"
  13: optional uuid m
  14: optional binary n
  15: required Choice o
  16: optional Kind p
  17: optional i8 q
  18: optional i16 r
  19: optional double s
  20: optional i64 t
  21: required binary u
}

struct Branch {
  1: optional Branch left
  2: list<Branch> more
  3: string name
  4: optional Branch right
  5: map<string, Branch> named
  6: Leaf leaf
}

union Choice {
  1: i64 number
  2: string text
  3: Leaf leaf
  4: list<Leaf> leaves
  5: Choice again
}

// More variants than each of their methods names.
union Wide {
  1: bool a, 2: i8 b, 3: i16 c, 4: i32 d, 5: i64 e, 6: double f, 7: string g, 8: binary h, 9: Leaf i, 10: list<Wide> j, 11: Nothing k
}

union Nothing {}

struct Boxes {
  1: list<list<Leaf>> grid
  2: map<i32, list<Branch>> branches
  3: list<map<string, Leaf>> maps
  4: list<bool> flags
  5: set<i16> shorts
  6: list<double> doubles
  7: list<uuid> ids
  8: list<binary> blobs
  9: map<Leaf, string> byLeaf
  10: list<Choice> choices
  11: map<Kind, Leaf> byKind
  12: optional Nothing nothing
  13: Choice choice
  14: list<Wide> wide
}

// Nothing but fields of fixed size, more than are handled at once.
struct Row {
  1: i64 a, 2: i64 b, 3: i64 c, 4: i32 d, 5: i32 e, 6: i16 f, 7: i8 g, 8: bool h, 9: double i, 10: uuid j
  11: i64 k, 12: i64 l, 13: i64 m, 14: i32 n, 15: i32 o, 16: i16 p, 17: i8 q, 18: bool r, 19: double s, 20: uuid t
  22: Kind v, 21: i64 u, 23: string w, 24: string x, 25: string y, 26: string z
}

struct None {}

// Bag is much larger in memory than on the wire.
struct Bag {
  1: map<string, i32> counts = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10}
}
struct Bags { 1: list<Bag> list, 2: optional Bag one, 3: Bag other }

// What a struct may call its fields although generated code has methods so called.
struct Named {
  1: i32 append_thrift
  2: i32 ReadThrift
  3: None encodeThrift
  4: list<None> decode_thrift
  5: i32 x
  6: i32 b
}

// More required fields than a plan has bits for.
struct Many {
  1: required i32 f1, 2: required i32 f2, 3: required i32 f3, 4: required i32 f4, 5: required i32 f5, 6: required i32 f6, 7: required i32 f7, 8: required i32 f8, 9: required i32 f9, 10: required i32 f10
  11: required i32 f11, 12: required i32 f12, 13: required i32 f13, 14: required i32 f14, 15: required i32 f15, 16: required i32 f16, 17: required i32 f17, 18: required i32 f18, 19: required i32 f19, 20: required i32 f20
  21: required i32 f21, 22: required i32 f22, 23: required i32 f23, 24: required i32 f24, 25: required i32 f25, 26: required i32 f26, 27: required i32 f27, 28: required i32 f28, 29: required i32 f29, 30: required i32 f30
  31: required i32 f31, 32: required i32 f32, 33: required i32 f33, 34: required i32 f34, 35: required i32 f35, 36: required i32 f36, 37: required i32 f37, 38: required i32 f38, 39: required i32 f39, 40: required i32 f40
  41: required i32 f41, 42: required i32 f42, 43: required i32 f43, 44: required i32 f44, 45: required i32 f45, 46: required i32 f46, 47: required i32 f47, 48: required i32 f48, 49: required i32 f49, 50: required i32 f50
  51: required i32 f51, 52: required i32 f52, 53: required i32 f53, 54: required i32 f54, 55: required i32 f55, 56: required i32 f56, 57: required i32 f57, 58: required i32 f58, 59: required i32 f59, 60: required i32 f60
  61: required i32 f61, 62: required i32 f62, 63: required i32 f63, 64: required i32 f64, 65: required i32 f65, 66: required i32 f66, 67: required i32 f67, 68: required i32 f68, 69: required i32 f69, 70: required i32 f70
}

exception Sorry { 1: string why, 2: Leaf leaf }
exception Alas {}

// Arguments and results of which some are structs have methods as structs do.
service Kinds {
  list<Leaf> leaves(
    1: required Leaf a, 2: set<Leaf> b, 3: i32 c, 4: required string d, 5: list<i64> e, 6: map<string, string> f, 7: list<string> g,
    8: map<i32, Leaf> h, 9: Leaf i, 10: i64 j = 7, 11: list<Leaf> k = [{"live": true}], 12: binary l, 13: bool m, 14: Choice n
  ) throws (1: Sorry sorry, -2: Alas alas)
  i32 count(1: list<Leaf> leaves, 2: uuid id) throws (1: Sorry sorry)
  Leaf one(1: Leaf append_thrift, 2: i32 EncodeThrift, 3: Leaf decode_thrift, 4: Leaf d, 5: Leaf e)
  set<Branch> branches(1: list<Branch> branches)
  Needs needs(1: Needs a, 2: list<Leaf> b = [], 3: Choice c)
  Branch branch(1: Branch a, 2: i32 b)
  bool there(1: optional Leaf a, 2: Choice b)
}
