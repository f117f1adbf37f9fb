/** Every production of the grammar stands in this file. */
namespace go limosa.grammar (uri = 'x')
namespace * grammar
namespace smalltalk.category Grammar
cpp_include "<map>"
include "shared.thrift"

# a shell comment
// a line comment
/* a block
   comment */
/**/ /***/

const bool YES = true
const bool NO = 0,
const i8 SMALL = -128;
const byte BYTE = 0x7f
const i16 SHORT = +32767
const i32 HEX = -0x1F
const i64 LONG = -9223372036854775808
const double PI = 3.14
const double TINY = -1.5e-10
const double WHOLE = 7
const string TEXT = "a \"quoted\"\ttext\n"
const string OTHER = 'single \'quoted\' and \\'
const binary BYTES = "bytes"
const uuid ID = '{00112233-4455-6677-8899-aaBBccDDeeFF}'
const list<i32> LIST = [1, HEX; 3 4]
const set<string> SET = ["a", 'b']
const map<string, list<i32>> MAP = {"a": [1], 'b': []; "c": LIST}
const Color COLOR = Color.BLUE
const Color NUMBER = 2
const Color SAME = COLOR
const i32 FROM_ENUM = Color.BLUE
const Point ORIGIN = {'x': 1, "y": 2.5, 'color': Color.RED}
const shared.Kind KIND = shared.Kind.BIG
const i32 FAR = shared.LIMIT

typedef i64 UserID (js.type = "Long"),
typedef map<UserID, Point> Points;
typedef list<double (cpp.fixed_point = "16")> (cpp.template = "std::list") Doubles (a.b)

/** A color.
 *
 *    indented
 */
enum Color {
  RED = 1 (weekend = "yes", free), /** the sea */ BLUE;
  GREEN = 0x10
  TEAL = 16
} (foo = "bar")

senum Old { "one", "two" }

struct Empty {}

struct Point xsd_all {
  1: required i32 x
  2: optional double y = 1.5,
  /** its color */
  3: Color color = Color.RED (go.tag = "json:\"c\""; deprecated);
} (python.immutable = "", final)

struct Everything {
  1: bool a, 2: byte b; 3: i8 c 4: i16 d 5: i32 e 6: i64 f 7: double g 8: string h 9: binary i 10: uuid j
  11: list<list<set<map<string, Point>>>> nested
  12: map cpp_type "m" <i32, string> m
  13: set cpp_type "s" <i32> s
  14: list<i32> cpp_type "l" l
  15: list cpp_type "l2" <i32> l2
  16: Everything & self
  17: string attrs xsd_optional xsd_nillable xsd_attrs { 1: string lang }
  18: optional i32 optional
  19: string namespace 20: i32 i32 21: string struct
  22: shared.Thing thing
  23: set<binary> bin = {}
  24: map<Point, string> keyed = []
  i32 implicit
  string implicit2
}

union Choice {
  1: i32 number = 5
  2: string text
  3: Choice & again
}

exception Oops { 1: i32 code, 2: string message } (foo)

service Base extends shared.Root {
  void ping()
  oneway void fire(1: i32 n),
  async void forget();
  i32 add(1: i32 a, 2: i32 b = 7) throws (1: Oops oops, 2: shared.Far far) (deprecated = "no")
  list<Point> points(1: Points points = {})
} (a.b = "c")

service Streams extends Base {
  stream<Point> down(1: Point from)
  Point up(1: stream<Point> points)
  stream<Point> both(stream<Point> points)
  Point kitex(1: Point p) (streaming.mode = "bidirectional")
  Point one(1: Point p) (streaming.mode = "unary")
}
