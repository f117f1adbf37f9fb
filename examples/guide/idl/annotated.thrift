// Streams as Kitex and every Apache Thrift compiler can read them.
namespace go annotated

struct Book    { 1: i64 id }
struct Receipt { 1: i64 cents }

//guide:begin annotated
service Books {
  Book search(1: Book like)        (streaming.mode = "server")
  Receipt restock(1: Book book)    (streaming.mode = "client")
  Receipt checkout(1: Book book)   (streaming.mode = "bidirectional")
}
//guide:end
