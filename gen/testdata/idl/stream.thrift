namespace go demo.stream

include "shared.thrift"

struct Number {
  1: i64 n
}

typedef Number Amount

/** Hello has a method of each shape. */
service Hello extends shared.Root {
  /** echo is an ordinary method. */
  Number echo(1: Number n)
  /** count sends 1 to n. */
  stream<Number> count(1: Number n)
  Number sum(1: stream<Amount> amounts)
  stream<Number> chat(1: stream<Number> iter)
  /** Its argument is named like the package of its messages. */
  stream<shared.Thing> things(1: shared.Thing shared)
  shared.Thing thing(1: stream<shared.Thing> shared)
  /** As Kitex writes it. */
  Number plus(1: Number n) (streaming.mode = "bidirectional")
}
