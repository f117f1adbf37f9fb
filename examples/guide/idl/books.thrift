// The bookshop of the guide.
//guide:begin books
namespace go books

struct Book {
  1: required i64 id
  2: string title
  3: optional string subtitle
}

struct Order {
  1: required i64 book
  2: i32 copies = 1
}

struct Receipt {
  1: i64 book
  2: i32 copies
  3: i64 cents
}

exception SoldOut {
  1: i64 book
  2: i32 left
}

service Books {
  Book get(1: i64 id) (idempotent)
  Receipt buy(1: Order order) throws (1: SoldOut sold_out)
  //guide:begin streams
  stream<Book> search(1: Book like)                   // one message, many answers
  Receipt restock(1: stream<Order> deliveries)        // many messages, one answer
  stream<Receipt> checkout(1: stream<Order> orders)   // both, at the same time
  //guide:end
}
//guide:end
