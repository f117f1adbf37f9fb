//guide:begin hello
namespace go hello

struct Request  { 1: string message }
struct Response { 1: string message }
struct Number   { 1: i64 n }

service Hello {
  Response echo(1: Request req)
  stream<Number> count(1: Number to)
}
//guide:end
