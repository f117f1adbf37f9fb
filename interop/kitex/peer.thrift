// What both sides are generated from. A row says in Item.text what the handler
// is to do, and in Item.row which row it is.
namespace go peer

struct Item {
  1: string text
  2: i64 n
  3: optional binary body
  4: i64 row
}

exception Denied {
  1: i32 code
  2: string reason
}

service Calls {
  Item echo(1: Item item)
  Item deny(1: Item item) throws (1: Denied denied)
  void nothing(1: Item item)
  oneway void note(1: Item item)
  // Servers are started without it.
  Item missing(1: Item item)
}

service Streams {
  Item produce(1: Item item) (streaming.mode = "server")
  Item collect(1: Item item) (streaming.mode = "client")
  Item talk(1: Item item) (streaming.mode = "bidirectional")
  // Servers are started without these.
  Item missingProduce(1: Item item) (streaming.mode = "server")
  Item missingCollect(1: Item item) (streaming.mode = "client")
  Item missingTalk(1: Item item) (streaming.mode = "bidirectional")
}
