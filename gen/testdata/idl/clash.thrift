// Names that clash with Go, with each other, or with what is generated.
namespace go clash

include "x.thrift"

struct user_name { 1: string a_b, 2: string aB, 3: string a_B, 4: string type, 5: string _hidden, 6: string _1 }
struct userName { 1: string f_1_2, 2: string f_12, 3: string SetDefaults = "x", 4: string SECOND_CHANCE }
struct UserName {}
struct NewuserName {}
exception error { 1: string error, 2: string Error }
exception Oops { 1: i32 result }
struct Calls { 1: string New }
struct CallsClient {}
struct CallsService {}
struct DialCalls {}
struct string_ {}
enum func { break, String, _, __ }
union choice { 1: i32 a, 2: i32 A }
struct ChoiceA {}
union outer { 1: choice unmarshal_JSON, 2: i32 UnmarshalJSON }
const i32 GEN = 1
const i32 gen = 2
struct uses { 1: x.thing thing, 2: list<x.thing> many = [{"n": 1}], 3: x.thing one = {"n": 2} }

service calls_ {
  void close(1: string ctx, 2: string c, 3: string x, 4: string err, 5: string rpc, 6: string type, 7: string func)
  string get_it(1: string impl) throws (1: Oops success)
  list<x.thing> getIt(1: list<x.thing> args)
  void GetIt(1: i32 _, 2: i32 __)
}
service more extends calls_ {
  void get_It(1: i32 nil, 2: i32 SetDefaults = 4)
  void Calls_Client()
}
