namespace go demo.hello
/** In the same Go package as hello.thrift, and named like an operating system. */
struct Other { 1: i32 n }
