// A field of each kind.
//guide:begin parcels
namespace go parcels

enum Size { SMALL = 1, LARGE = 2 }

union Payment {
  1: i64 cash
  2: string card
}

struct Parcel {
  1: required i64 id
  2: optional string note
  3: i32 grams = 500
  4: list<string> labels
  5: set<i32> zones
  6: map<string, string> tags
  7: Size size
  8: Payment payment
  9: optional binary photo
  10: Parcel inner
}
//guide:end
