namespace go demo.hello
/** In the same Go package as hello.thrift, and named like an operating system. */
struct Other { 1: i32 n }
/** Beside the service of hello.thrift, which has the short names. */
service Side { Other other(1: Other o) } (go.short = "false")
