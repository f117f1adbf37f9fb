namespace go x
struct thing { 1: i32 n, 2: string s = "d" }
