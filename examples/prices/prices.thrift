namespace go prices

struct Price {
  1: string symbol
  2: i64 cents
}

service Prices {
  stream<Price> watch(1: Price symbol)
}
