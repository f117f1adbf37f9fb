// What other namespaces use.
namespace go shared

const i32 LIMIT = 10
const list<string> NAMES = ["a", "b"]

enum Kind { SMALL = 1, BIG = 2 }

/** A thing with a default. */
struct Thing {
  1: Kind kind = Kind.BIG
  2: optional string note = "none"
}

exception Far { 1: i32 miles }

service Root {
  string root(1: string s)
}
