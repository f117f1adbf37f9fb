// The messages of the codec benchmark, for Limosa's generator and for Apache
// Thrift's. shapes.proto has the same in Protobuf.
namespace go shapes

struct Echo {
  1: i64 id
  2: string text
  3: list<i64> list
}

struct Small {
  1: i64 id
  2: i32 kind
  3: string sku
  4: string name
  5: double price
  6: i32 count
  7: bool live
  8: string owner
  9: i64 made
  10: string note
} (lazy)

struct Item {
  1: i64 id
  2: string sku
  3: string name
  4: double price
  5: i32 count
  6: bool live
  7: i64 made
  8: string note
} (lazy)

struct Medium {
  1: i64 id
  2: Small head
  3: list<Item> items
  4: map<string, string> tags
  5: list<string> words
  6: list<i32> counts
  7: binary blob
} (lazy)

struct Large {
  1: i64 id
  2: list<Medium> parts
}

struct Numbers {
  1: i64 id
  2: Item item
  3: list<i64> numbers
} (lazy)

struct Text {
  1: string text
}

struct Maps {
  1: map<string, string> pairs
}

struct Wide {
  1: i64 n1, 2: i32 n2, 3: double n3, 4: bool n4, 5: i64 n5, 6: i32 n6, 7: double n7, 8: bool n8, 9: i64 n9, 10: i64 n10
  11: string s11, 12: string s12, 13: string s13, 14: string s14, 15: string s15
  16: string s16, 17: string s17, 18: string s18, 19: string s19, 20: string s20
  21: list<Item> l21, 22: list<Item> l22, 23: list<i64> l23, 24: list<string> l24, 25: map<string, string> m25
  26: string s26, 27: string s27, 28: string s28, 29: string s29, 30: string s30
  31: string s31, 32: string s32, 33: string s33, 34: string s34, 35: string s35
  36: Item t36, 37: Small t37, 38: list<Item> l38, 39: binary b39, 40: map<string, string> m40
  41: string s41, 42: string s42, 43: string s43, 44: string s44, 45: string s45
  46: i64 n46, 47: i32 n47, 48: double n48, 49: bool n49, 50: string s50
} (lazy)
