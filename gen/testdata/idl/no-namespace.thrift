struct Alone { 1: optional i32 x }
service Alone2 { Alone get() }
