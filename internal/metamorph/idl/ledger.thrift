// The service of the metamorphic run, as ledger.proto has it.
namespace go ledger

enum Kind { PLAIN = 0, RARE = 1, LOST = 2 }

struct Entry {
  1: string key
  2: i64 amount
  3: list<string> tags
  4: map<string, i64> counts
  5: binary blob
  6: optional double weight
  7: Kind kind
  8: optional Entry next
  9: bool flag
  10: list<i32> small
}

struct Key {
  1: string key
  2: i32 most
}

struct Failure {
  1: i32 code
  2: string text
}

struct Receipt {
  1: i64 sequence
  2: i64 sum
  3: optional Entry old
}

service Ledger {
  Receipt put(1: Entry entry)
  Entry get(1: Key key)
  Receipt fail(1: Failure failure)
  Receipt wait(1: Key key)
  stream<Entry> scan(1: Key key)
  Receipt total(1: stream<Entry> entries)
  stream<Receipt> merge(1: stream<Entry> entries)
}
