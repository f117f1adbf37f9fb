namespace go orders

struct Line {
  1: required string item
  2: i32 count = 1
}

struct Confirmation {
  1: string number
  2: i64 cents
}

exception OutOfStock {
  1: string item
  2: i32 left
}

service Orders {
  Confirmation place(1: Line line) throws (1: OutOfStock out)
}
