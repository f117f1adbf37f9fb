namespace go limosa.shared
const i32 LIMIT = 10
enum Kind { SMALL, BIG }
struct Thing { 1: Kind kind }
exception Far { 1: i32 miles }
service Root { string root() }
