/** Package hello covers what the generator can write. */
namespace go demo.hello

include "shared.thrift"

typedef i64 UserID
typedef Point Place
typedef list<Tree> Trees
typedef set<string> Names
typedef shared.Kind Size

/** A color. */
enum Color { RED = 1, /** like the sea */ BLUE, GREEN = 0x10, TEAL = 16, dark = -1 }

const bool YES = true
const i8 SMALL = -128
const i64 LONG = -9223372036854775808
const double PI = 3.14
const double WHOLE = 7
const string text = "a \"quoted\"\n`line`"
const binary BYTES = "bytes"
const uuid ID = '{00112233-4455-6677-8899-aaBBccDDeeFF}'
const list<i32> LIST = [1, SMALL, 3]
const set<i32> SET = [1, 2, 2]
const map<string, list<i32>> MAP = {"a": [1], "b": [], "c": LIST}
const map<Point, string> PAIRS = {{"x": 1}: "one"}
const Color COLOR = Color.BLUE
const Color SAME = COLOR
const i32 FROM_ENUM = Color.GREEN
const Point ORIGIN = {"x": 1, "y": 2.5}
const Choice CHOICE = {"text": "hi"}
const shared.Thing THING = {"kind": shared.Kind.SMALL}
const map<map<string, list<map<string, string>>>, map<string, list<map<string, set<map<Point, Point>>>>>> LONG_AND_EMPTY = {}
const i32 FAR = shared.LIMIT
const list<string> FAR_NAMES = shared.NAMES

struct Point {
  1: required i32 x
  2: optional double y = 1.5
  3: Color color = Color.RED
}

struct Tree {
  1: Trees children
  2: Tree & left
  3: map<i32, Trees> named
}

struct Everything {
  1: bool a; 2: byte b; 3: i16 c; 4: i32 d; 5: i64 e; 6: double f; 7: string g; 8: binary h; 9: uuid i
  11: optional bool oa; 12: optional i8 ob; 13: optional i16 oc; 14: optional i32 od; 15: optional i64 oe
  16: optional double of; 17: optional string og; 18: optional binary oh; 19: optional uuid oi; 20: optional Color oj
  21: list<list<set<map<string, Point>>>> nested
  22: set<binary> bins = {}
  23: map<Point, string> keyed
  24: map<Color, UserID> by_color
  25: map<uuid, i32> by_uuid
  26: map<list<i32>, set<Names>> wild
  27: Choice choice
  28: list<Choice> choices
  29: Place place
  30: required Point needed
  31: Size size = shared.Kind.SMALL
  32: shared.Thing thing
  33: map<bool, double> flags
  34: map<double, binary> weights
  35: string url (go.tag = 'json:"u"')
  36: string user_id
  37: string http_server (deprecated = "use url")
}

union Choice {
  1: i32 number
  /** some text */
  2: string text
  3: Choice again
  4: list<Point> points
  5: Point point
  6: binary bytes
}

union Nothing {}

exception NotFound { 1: string message, 2: Point at }
exception Teapot { 1: i32 spouts, 2: Color color }
exception Plain {}

/** Hello says hello. */
service Hello extends shared.Root {
  /** Echo gives it back. */
  Everything echo(1: Everything msg)
  void ping()
  oneway void fire(1: i32 n)
  i32 add(1: i32 a, 2: i32 b = 7) (idempotent)
  bool flag(1: bool on)
  Color color(1: Color color)
  string text(1: string s)
  binary bytes(1: binary b)
  uuid id(1: uuid id)
  list<i32> numbers(1: list<i32> numbers)
  set<string> names(1: Names names)
  map<string, i32> counts(1: map<string, i32> counts)
  map<Point, i32> pairs(1: map<Point, i32> pairs)
  Choice choose(1: Choice choice)
  Point find(1: i32 how) throws (1: NotFound missing, 2: shared.Far far)
  void check(1: i32 how) throws (1: Teapot teapot, 2: Plain plain)
  void old() (deprecated = "say ping")
}
