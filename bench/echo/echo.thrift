// The message and service of echo.proto in Thrift, for Limosa's generator and
// for Apache Thrift's.
namespace go echo

struct Message {
  1: i64 id
  2: string text
  3: list<i64> list
}

service Echo {
  Message echo(1: Message msg)
}
