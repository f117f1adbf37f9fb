// Views that are read and changed where their bytes lie.
namespace go lazy

include "shared.thrift"

enum Shade { LIGHT = 1, DARK }
typedef i64 Stamp
typedef list<Leaf> Leaves

struct Leaf {
  1: i64 id
  2: string name
  3: optional i32 weight
  4: bool green
} (lazy)

/** Branch is a leaf with others. */
struct Branch {
  1: required i32 id
  2: optional Leaf leaf
  3: Leaves leaves
  4: optional Branch next
  5: list<Branch> branches
  6: Fruit fruit
} (lazy)

struct Plain { 1: i32 a, 2: optional string b, 3: list<i32> c }

union Fruit { 1: i32 number, 2: string name, 3: Branch branch, 4: list<Fruit> fruits }

struct Settings {
  1: i32 port = 80
  2: optional string host = "localhost"
  3: Leaf leaf = {"id": 7, "name": "seven"}
  4: list<i32> numbers = [1, 2]
  5: list<Leaf> leaves = [{"id": 1}]
  6: optional i32 none
  7: string text
  8: optional bool on = true
} (lazy)

struct Everything {
  1: bool a; 2: i8 b; 3: i16 c; 4: i32 d; 5: i64 e; 6: double f; 7: string g; 8: binary h; 9: uuid i; 10: Shade j
  11: optional bool oa; 12: optional i8 ob; 13: optional i16 oc; 14: optional i32 od; 15: optional i64 oe
  16: optional double of; 17: optional string og; 18: optional binary oh; 19: optional uuid oi; 20: optional Shade oj
  21: list<bool> la; 22: list<i8> lb; 23: list<i16> lc; 24: list<i32> ld; 25: list<i64> le; 26: set<double> lf
  27: list<string> lg; 28: set<binary> lh; 29: list<uuid> li; 30: list<Shade> lj; 31: optional list<Stamp> lk
  32: list<Leaf> leaves; 33: set<Branch> branches; 34: list<Plain> plains; 35: list<list<Leaf>> nested; 36: list<Fruit> fruits
  37: list<map<string, i32>> maps
  41: map<string, string> ms; 42: map<i32, Leaf> ml; 43: map<Leaf, i32> pairs; 44: map<Shade, list<i64>> mn; 45: optional map<string, Branch> mb
  51: Leaf leaf; 52: optional Branch branch; 53: Plain plain; 54: Fruit fruit; 55: shared.Thing thing; 56: Settings settings
  // names that a view has already, or that clash with setters
  61: i32 release; 62: i32 plain_; 63: i32 lazy; 64: i32 set_a; 65: string SetG
  -1: i32 negative; 30000: i32 far
} (lazy)

/** Same has the fields of Everything that another version knows. */
struct Older { 1: bool a; 7: string g; 32: list<Leaf> leaves; 51: optional Leaf leaf } (lazy)

exception Rotten { 1: string why, 2: Leaf leaf } (lazy)

service Orchard {
  Everything echo(1: Everything e, 2: i32 times) throws (1: Rotten rotten) (lazy)
  Everything plain(1: Everything e)
  oneway void drop(1: Leaf leaf) (lazy)
}
