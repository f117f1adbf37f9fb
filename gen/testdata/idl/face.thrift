/** Package face has what a user sees besides types: getters, text, JSON. */
namespace go face

enum Level { LOW = 1, HIGH = 5 }

/** Absent holds every kind of field that may be absent, with and without a default. */
struct Absent {
  1: optional bool flag = true
  2: optional i64 number = -3
  3: optional double ratio = 1.5
  4: optional string text = "none"
  5: optional binary raw = "raw"
  6: optional uuid id = "00112233-4455-6677-8899-aabbccddeeff"
  7: optional Level level = Level.HIGH
  8: optional list<string> strings = ["a", "b"]
  9: optional map<string, i32> counts = {"a": 1}
  10: optional Inner inner = {"n": 7}
  11: optional Inner other
  12: optional One one = {"n": 9}
  13: optional list<i32> bare
  14: Inner plain
  15: Inner made = {"n": 8}
}

struct Inner { 1: i32 n = 5, 2: optional Inner deeper }

/** The names of getters are taken: by fields, and by each other. That of a method is too. */
struct Taken {
  1: optional i32 x
  2: i32 get_x
  3: optional i32 getX
  4: optional i32 string (deprecated = "use x")
  5: i32 unmarshalJSON
  6: One one
}

/** One says which. */
union One { 1: i32 n }

union Many {
  1: i32 aa; 2: i32 bb; 3: i32 cc; 4: i32 dd; 5: i32 ee; 6: i32 ff; 7: i32 gg; 8: i32 hh
  9: list<Many> with_a_long_name
}

union None {}
