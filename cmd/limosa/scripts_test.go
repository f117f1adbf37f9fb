package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
)

// A script is what a user types and sees: lines with a dollar, what stdout and
// then stderr said, and the exit code. ADDR is the server of testIDL that tells
// its IDL, MUTE one that does not, FLOW the one of flowIDL, SHUT one
// that wants a key, GONE an address at which nobody listens. A line "< text" behind a command is its stdin, with \n
// for the ends of lines.
var scripts = map[string]string{
	"walk": `$ list ADDR
Hello
  Response Echo(1: Request req) throws (1: Oops oops)
  i64 add(1: i64 a, 2: i64 b)
  i64 twice(1: i64 n)
  oneway void note(1: string text)
  void ping()

LimosaReflection
  Description limosaDescribe()
[0]
$ describe ADDR
limosa describe: want Service/Method, Service or Type behind ADDR (limosa list ADDR shows what there is)
[2]
$ describe ADDR hello
Hello
  Response Echo(1: Request req) throws (1: Oops oops)
  i64 add(1: i64 a, 2: i64 b)
  i64 twice(1: i64 n)
  oneway void note(1: string text)
  void ping()
[0]
$ describe ADDR Hello/add
i64 add(1: i64 a, 2: i64 b)

# a request to fill in
limosa call ADDR Hello/add '{
  "a": 0,
  "b": 0
}'
[0]
$ describe ADDR Request
struct Request {
  1: string message
}
[0]
$ describe ADDR Reqest
limosa describe: the IDL has no service or type "Reqest" (did you mean "Request"?); it has Base, Hello, LimosaReflection, Request, Response, Oops, Description, ServiceName
[2]
$ describe ADDR Hello/ecoh
limosa describe: service Hello has no method "ecoh" (did you mean "Echo"?); it has Echo, add, twice, note, ping
[2]
$ call ADDR Hello/Echo {"message":"hi"}
{
  "message": "hi"
}
[0]
$ call ADDR Hello/Echo {"message":"hi"} -o json
{"result":{"message":"hi"},"took_us":0,"peer":"ADDR","metadata":{"seen":[""]}}
[0]
$ call ADDR hello/ECHO {"req":{"message":"hi"}}
{
  "message": "hi"
}
[0]
$ call ADDR Hello/Echo {"message":"oops"}
{
  "why": "asked for"
}
limosa call: Hello/Echo answered with its exception Oops
[1]
$ call ADDR Hello/Echo {"message":"oops"} -o json
{"exception":"Oops","value":{"why":"asked for"},"took_us":0,"peer":"ADDR"}
[1]
$ call ADDR Hello/Echo {"message":"denied"}
limosa call: PermissionDenied: Hello/Echo at ADDR: not you
[1]
$ call ADDR Hello/Echo {"message":"denied"} -o json
{"error":{"code":"PermissionDenied","message":"PermissionDenied: Hello/Echo at ADDR: not you","sent":"processed"},"took_us":0,"peer":"ADDR"}
[1]
$ call ADDR Hello/ping
null
[0]
$ call ADDR Hello/ping -o json
{"result":null,"took_us":0,"peer":"ADDR"}
[0]
$ call ADDR Hello/Echo {"message":"<b>&amp;"} -o json
{"result":{"message":"<b>&amp;"},"took_us":0,"peer":"ADDR","metadata":{"seen":[""]}}
[0]
$ call ADDR Hello/note "remember" -o json
{"took_us":0,"peer":"ADDR"}
[0]
`,
	"wrong requests": `$ call ADDR Hello/Echo {"massage":"hi"}
limosa call: the request does not fit Hello/Echo: req: Request has no field "massage"; known are message
[2]
$ call ADDR Hello/Echo {"message":5}
limosa call: the request does not fit Hello/Echo: req.message: string is a string, not the number 5
[2]
$ call ADDR Hello/Echo [1]
limosa call: the request does not fit Hello/Echo: req: Request is an object, not an array
[2]
$ call ADDR Hello/Echo null
limosa call: InvalidArgument: Hello/Echo at ADDR: no request
[1]
$ call ADDR Hello/add 5
limosa call: the request does not fit Hello/add: add's arguments is an object, not the number 5
[2]
$ call ADDR Hello/add {"a":9223372036854775808}
limosa call: the request does not fit Hello/add: a: 9223372036854775808 is out of range for i64
[2]
$ call ADDR Hello/add {"a":1.5}
limosa call: the request does not fit Hello/add: a: i64 is an integer, not the number 1.5
[2]
$ call ADDR Hello/add {"a":1,"c":2}
limosa call: the request does not fit Hello/add: add's arguments has no field "c"; known are a, b
[2]
$ call ADDR Hello/twice {"n":"x"}
limosa call: the request does not fit Hello/twice: n: i64 is an integer, not the string "x"
[2]
$ call ADDR Hello/twice {"n":1}{"n":2}
limosa call: the request is no JSON: invalid character '{' after top-level value at byte 8
[2]
$ call ADDR Hello/Echo -
< {"message":"from stdin"}
{
  "message": "from stdin"
}
[0]
$ call ADDR Hello/Echo -
< {"message":
limosa call: the request is no JSON: unexpected end of JSON input at byte 11
[2]
$ call ADDR Hello/Echo @DIR/nothing.json
limosa call: open DIR/nothing.json: no such file or directory
[2]
$ call ADDR Hello/Echo @DIR
limosa call: read DIR: is a directory
[2]
`,
	"wrong names": `$ call ADDR Helo/Echo
limosa call: no service "Helo" in the IDL (did you mean "Hello"?); it has Base, Hello, LimosaReflection
[2]
$ call ADDR Hello/Ech
limosa call: service Hello has no method "Ech" (did you mean "Echo"?); it has Echo, add, twice, note, ping
[2]
$ call ADDR Hello.Echo
limosa call: "Hello.Echo" is not Service/Method
[2]
$ call ADDR other.Hello/Echo
limosa call: the IDL has no services in a file or namespace "other"
[2]
$ call ADDR hello.Hello/add {"a":1,"b":2}
3
[0]
$ call ADDR /Echo
limosa call: "/Echo" is not Service/Method
[2]
$ call ADDR
limosa call: want ADDR Service/Method [JSON], got 1 argument (limosa call --help)
[2]
$ cal ADDR Hello/Echo
limosa: unknown command "cal" (did you mean "call"?); there are new, gen, breaking, list, describe, call, bench, demo, version (limosa --help)
[2]
$ call ADDR Hello/Echo {} -tarnsport framed
limosa call: unknown flag -tarnsport (did you mean "-transport"?) (limosa call --help)
[2]
$ call ADDR Hello/Echo {} -transport compact
limosa call: unknown -transport "compact"; it is one of ttheader, theader, framed, buffered, theader-compact, framed-compact, buffered-compact
[2]
$ call ADDR Hello/Echo {} -timeout -1s
limosa call: -timeout -1s: want a time above zero, or 0 for none
[2]
$ call ADDR Hello/Echo {} -timeout
limosa call: flag needs an argument: -timeout (limosa call --help)
[2]
$ call ADDR Hello/Echo {} -limit 2
limosa call: -limit counts the messages of a server's stream, and Hello/Echo sends none
[2]
$ call ADDR Hello/Echo {} -limit x
limosa call: invalid value "x" for flag -limit: invalid syntax (limosa call --help)
[2]
$ call ADDR Hello/Echo {} -o xml
limosa call: invalid value "xml" for flag -o: output is text or json, not "xml" (limosa call --help)
[2]
`,
	"forms": `$ call ADDR Hello/add {"a":1,"b":2} -transport theader
3
[0]
$ call ADDR Hello/add {"a":1,"b":2} -transport framed
3
[0]
$ call ADDR Hello/add {"a":1,"b":2} -transport buffered
3
[0]
$ call ADDR Hello/add {"a":1,"b":2} -transport theader-compact
3
[0]
$ call ADDR Hello/add {"a":1,"b":2} -transport framed-compact
3
[0]
$ call ADDR Hello/add {"a":1,"b":2} -transport buffered-compact
3
[0]
$ call ADDR?thrift=framed-compact Hello/add {"a":1,"b":2}
3
[0]
$ call ADDR?thrift=framd Hello/add {"a":1,"b":2}
limosa call: InvalidArgument: target: "ADDR?thrift=framd": thrift is one of ttheader, framed, buffered, theader, framed-compact, buffered-compact, theader-compact
[2]
$ call ADDR Hello/Echo {"message":"oops"} -transport framed-compact
{
  "why": "asked for"
}
limosa call: Hello/Echo answered with its exception Oops
[1]
$ call ADDR Hello/Echo {"message":"denied"} -transport framed-compact
limosa call: Internal: Hello/Echo at ADDR: not you
[1]
$ call ADDR Hello/Echo {"message":"hi"} -transport framed -H a=b
limosa call: -H and -P need ttheader or theader: framed messages have no place for metadata
[2]
$ call ADDR Hello/Echo {"message":"hi"} -transport buffered-compact -P a=b
limosa call: -H and -P need ttheader or theader: buffered-compact messages have no place for metadata
[2]
$ call ADDR Hello/Echo {"message":"hi"} -H tenant=a,b -o json
{"result":{"message":"hi"},"took_us":0,"peer":"ADDR","metadata":{"seen":["a,b"]}}
[0]
$ call ADDR Hello/Echo {"message":"hi"} -P tenant=acme -o json
{"result":{"message":"hi"},"took_us":0,"peer":"ADDR","metadata":{"seen":["acme"]}}
[0]
$ call ADDR Hello/Echo {"message":"hi"} -transport theader -H tenant=t -o json
{"result":{"message":"hi"},"took_us":0,"peer":"ADDR","metadata":{"seen":["t"]}}
[0]
$ call ADDR Hello/Echo {"message":"hi"} -H =x
limosa call: InvalidArgument: metadata: key "" is empty
[2]
$ call ADDR Hello/Echo {"message":"hi"} -P x
limosa call: -P "x" is not key=value
[2]
`,
	"servers": `$ list MUTE
limosa list: the server at MUTE does not tell its IDL (reflection.With in its main.go would); give -idl FILE, or run where idl/* lies
[2]
$ call MUTE Hello/add {"a":1,"b":2}
limosa call: the server at MUTE does not tell its IDL (reflection.With in its main.go would); give -idl FILE, or run where idl/* lies
[2]
$ call MUTE Hello/add {"a":1,"b":2} -idl DIR/hello.thrift
3
[0]
$ call MUTE Flow/twice {"n":1} -idl DIR/flow.thrift
limosa call: Internal: Flow/twice: decode response: the answer holds no result: the handler has returned nil and no error, or the server's IDL has another result or exception of the method
[1]
$ list SHUT
limosa list: asking the server for its IDL (give what it asks of callers by -H key=value or -cert, or -idl FILE to do without): Unauthenticated: LimosaReflection/limosaDescribe at SHUT: no key
[1]
$ describe SHUT Oops -H key=1
exception Oops {
  1: string why
}
[0]
$ call SHUT Hello/add {"a":1,"b":2} -idl DIR/hello.thrift
limosa call: Unauthenticated: Hello/add at SHUT: no key
[1]
$ call SHUT Hello/add {"a":1,"b":2} -H key=1
3
[0]
$ list GONE
limosa list: asking the server for its IDL: Unavailable: LimosaReflection/limosaDescribe at GONE: dial: connect: connection refused
[1]
$ call GONE Hello/Echo
limosa call: asking the server for its IDL: Unavailable: LimosaReflection/limosaDescribe at GONE: dial: connect: connection refused
[1]
$ call GONE Hello/Echo -idl DIR/hello.thrift
limosa call: Unavailable: Hello/Echo at GONE: dial: connect: connection refused
[1]
$ call GONE Hello/Echo -idl DIR/hello.thrift -o json
{"error":{"code":"Unavailable","message":"Unavailable: Hello/Echo at GONE: dial: connect: connection refused","sent":"not sent"},"took_us":0}
[1]
$ bench GONE Hello/Echo -idl DIR/hello.thrift -d 1s
limosa bench: the first call failed: Unavailable: Hello/Echo at GONE: dial: connect: connection refused
[1]
$ call nowhere Hello/Echo
limosa call: InvalidArgument: target: "nowhere": want host:port or unix:///path
[2]
$ call unix://DIR/none.sock Hello/Echo -idl DIR/hello.thrift
limosa call: Unavailable: Hello/Echo at DIR/none.sock: dial: connect: no such file or directory
[1]
`,
	"files": `$ list -idl DIR/hello.thrift
Base
  void ping()

Hello
  Response Echo(1: Request req) throws (1: Oops oops)
  i64 add(1: i64 a, 2: i64 b)
  i64 twice(1: i64 n)
  oneway void note(1: string text)
  void ping()
[0]
$ list -idl DIR/hello.thrift -o json
{"service":"Base","methods":["void ping()"]}
{"service":"Hello","methods":["Response Echo(1: Request req) throws (1: Oops oops)","i64 add(1: i64 a, 2: i64 b)","i64 twice(1: i64 n)","oneway void note(1: string text)","void ping()"]}
[0]
$ describe -idl DIR/flow.thrift Flow/chat
stream<Number> chat(1: stream<Number> numbers)

struct Number {
  1: required i64 n
  2: optional string text
}

# a request to fill in
limosa call ADDR Flow/chat '{
  "n": 0,
  "text": ""
}'
[0]
$ describe -idl DIR/flow.thrift Flow/chat -o json
{"service":"Flow","signature":"stream<Number> chat(1: stream<Number> numbers)","request":{"n":0,"text":""},"types":["struct Number {\n  1: required i64 n\n  2: optional string text\n}"]}
[0]
$ describe -idl DIR/flow.thrift Number -o json
{"types":["struct Number {\n  1: required i64 n\n  2: optional string text\n}"]}
[0]
$ describe -idl DIR/flow.thrift Flow -o json
{"service":"Flow","methods":["stream<Number> count(1: Number to)","Number sum(1: stream<Number> numbers)","stream<Number> chat(1: stream<Number> numbers)","Number twice(1: Number n)"]}
[0]
$ list -idl DIR
limosa list: -idl DIR is a directory; name one file in it
[2]
$ list -idl DIR/none.thrift
limosa list: DIR/none.thrift: no such file or directory
[2]
$ list -idl DIR/bad.thrift
limosa list: DIR/bad.thrift:2:6: unknown type strin
[1]
$ list
limosa list: which IDL? give -idl FILE, or run where idl/* lies
[2]
$ gen
limosa gen: no file is given (limosa gen --help)
[2]
$ gen DIR/bad.thrift -out DIR/gen
DIR/bad.thrift:2:6: unknown type strin
      1: strin name
         ^
[1]
$ gen DIR/hello.thrift -out DIR/gen -check
DIR/gen/test/hello.thrift.codec.go: missing
DIR/gen/test/hello.thrift.go: missing
[1]
$ breaking -against DIR/none DIR/hello.thrift
limosa breaking: DIR/none is no directory, and no ref of git: fatal: not a git repository (or any of the parent directories): .git
[2]
`,
	"shapes": `$ describe -idl DIR/shapes.thrift Shapes/take
void take(1: Node node, 2: Choice choice)

struct Node {
  1: list<Node> below
  2: Leaf leaf
  3: map<i32,Leaf> by
  4: map<Leaf,string> odd
  5: Cents cents
  6: binary raw
  7: uuid id
}

struct Leaf {
  1: i32 n = 7
  2: Size size = Size.LARGE
  3: bool on = true
  4: list<i32> l = …
  5: optional double d = 0.5
}

enum Size {
  SMALL = 1
  LARGE = 2
}

typedef i64 Cents

union Choice {
  1: Choice again
  2: string text
}

# a request to fill in
limosa call ADDR Shapes/take '{
  "node": {
    "below": [],
    "leaf": {
      "n": 7,
      "size": "LARGE",
      "on": true,
      "d": 0.5
    },
    "by": {"0": {
      "n": 7,
      "size": "LARGE",
      "on": true,
      "d": 0.5
    }},
    "odd": [{"key": {
      "n": 7,
      "size": "LARGE",
      "on": true,
      "d": 0.5
    }, "value": ""}],
    "cents": 0,
    "raw": "",
    "id": "00000000-0000-0000-0000-000000000000"
  },
  "choice": {
    "text": ""
  }
}'
[0]
$ describe -idl DIR/shapes.thrift Shapes/leaves
stream<Leaf> leaves(1: stream<Leaf> in)

struct Leaf {
  1: i32 n = 7
  2: Size size = Size.LARGE
  3: bool on = true
  4: list<i32> l = …
  5: optional double d = 0.5
}

enum Size {
  SMALL = 1
  LARGE = 2
}

# a request to fill in
limosa call ADDR Shapes/leaves '{
  "n": 7,
  "size": "LARGE",
  "on": true,
  "d": 0.5
}'
[0]
$ describe -idl DIR/shapes.thrift Choice
union Choice {
  1: Choice again
  2: string text
}
[0]
$ describe -idl DIR/shapes.thrift size
enum Size {
  SMALL = 1
  LARGE = 2
}
[0]
$ describe -idl DIR/shapes.thrift Cents
typedef i64 Cents
[0]
$ describe -idl DIR/shapes.thrift Node -o json
{"types":["struct Node {\n  1: list<Node> below\n  2: Leaf leaf\n  3: map<i32,Leaf> by\n  4: map<Leaf,string> odd\n  5: Cents cents\n  6: binary raw\n  7: uuid id\n}"]}
[0]
$ describe -idl DIR/shapes.thrift Shapes
Shapes
  void take(1: Node node, 2: Choice choice)
  stream<Leaf> leaves(1: stream<Leaf> in)
[0]
$ describe -idl DIR/shapes.thrift Shape
limosa describe: the IDL has no service or type "Shape" (did you mean "Shapes"?); it has Shapes, Leaf, Node, Choice, Size
[2]
$ describe -idl DIR/shapes.thrift Shapes/tkae
limosa describe: service Shapes has no method "tkae" (did you mean "take"?); it has take, leaves
[2]
$ list -idl DIR/shapes.thrift -o json
{"service":"Shapes","methods":["void take(1: Node node, 2: Choice choice)","stream<Leaf> leaves(1: stream<Leaf> in)"]}
[0]
`,
	"help": `$ --help
limosa: services that call each other, from an IDL file to a measured call

Usage:
  limosa COMMAND [arguments and flags in any order]

Commands:
  new       make a project that serves an IDL and runs at once
  gen       make Go from IDL files
  breaking  tell which changes of IDL files break programs or code
  list      show the services and methods of a server or of an IDL file
  describe  show a method with its types and a request to fill in, or a type
  call      make one call, JSON in and JSON out
  bench     load a method and measure it
  demo      run a small shop over tcp, unix and in process, and check every answer
  version   tell the version of this binary, of Go and of the sources

limosa COMMAND --help tells more, with an example.
[0]
$ help list
limosa list: show the services and methods of a server or of an IDL file

Usage:
  limosa list [ADDR | -idl FILE]

Asks the server at ADDR, or reads the IDL: -idl FILE, or ./idl/* if
there is neither. A server answers if its program says so, with reflection.With.
With ?protocol=grpc behind ADDR it is any server of gRPC, asked by gRPC's own
reflection.

Example:
  limosa list :8888
  limosa list ':50051?protocol=grpc'

Flags:
  -idl string         IDL FILE that has the service; if not given the server is asked, then ./idl/* is read
  -I string           directory to search for included files; may be repeated
  -transport string   framing: ttheader, theader, framed, buffered, theader-compact, framed-compact, buffered-compact (ttheader if not given)
  -multiplexed        send Service:Method as the method's name, as Apache's TMultiplexedProtocol does
  -H string           metadata for the server, as key=value; may be repeated
  -P string           persistent metadata, which the server passes on to whom it calls; may be repeated
  -tls                speak TLS, and check the server against the system's authorities
  -cacert string      PEM FILE with the authorities to check the server against; implies -tls
  -cert string        PEM FILE with the certificate to show to the server; with -key, implies -tls
  -key string         PEM FILE with the key of -cert
  -servername string  name that the server's certificate must have; the host of ADDR if not given
  -insecure           do not check the server's certificate; implies -tls
  -timeout duration   give up after this time (10s if not given); 0: never
  -o string           output: text or json
  -help, -h           show help
[0]
$ describe --help
limosa describe: show a method with its types and a request to fill in, or a type

Usage:
  limosa describe [ADDR] Service/Method | Service | Type

Where the IDL comes from is told at limosa list. The request has every field;
what is left out of it has its default.

Example:
  limosa describe :8888 Hello/Echo

Flags:
  -idl string         IDL FILE that has the service; if not given the server is asked, then ./idl/* is read
  -I string           directory to search for included files; may be repeated
  -transport string   framing: ttheader, theader, framed, buffered, theader-compact, framed-compact, buffered-compact (ttheader if not given)
  -multiplexed        send Service:Method as the method's name, as Apache's TMultiplexedProtocol does
  -H string           metadata for the server, as key=value; may be repeated
  -P string           persistent metadata, which the server passes on to whom it calls; may be repeated
  -tls                speak TLS, and check the server against the system's authorities
  -cacert string      PEM FILE with the authorities to check the server against; implies -tls
  -cert string        PEM FILE with the certificate to show to the server; with -key, implies -tls
  -key string         PEM FILE with the key of -cert
  -servername string  name that the server's certificate must have; the host of ADDR if not given
  -insecure           do not check the server's certificate; implies -tls
  -timeout duration   give up after this time (10s if not given); 0: never
  -o string           output: text or json
  -help, -h           show help
[0]
$ gen --help
limosa gen: make Go from IDL files

Usage:
  limosa gen [flags] FILES|DIRS...

The same as the program limosa-gen. Makes two Go files, types and their codecs,
of each IDL file and of all that they include; of a directory, of all .thrift and
.proto files below it. Methods with streams become iterators, iter.Seq2[*T, error], on both sides.

Example:
  limosa gen -out gen idl/hello.thrift

Flags:
  -out string     directory under which packages are written, by their namespace go (. if not given)
  -prefix string  import path of -out; worked out from the nearest go.mod if not given
  -I string       directory to search for included files; may be repeated
  -M string       FILE=PATH: the Go package of a .proto file, in place of its go_package; may be repeated
  -plugin string  command that gets the schema as JSON on stdin and gives further files: [{path, content}]
  -lazy           give every struct a lazy view, not only those annotated with (lazy)
  -long           no short names (Service, NewClient, Dial, Unimplemented) for the only service of a file
  -check          write nothing; exit code 1 names the files that are stale or missing
  -q              no warnings
  -help, -h       show help
[0]
$ demo -h
limosa demo: run a small shop over tcp, unix and in process, and check every answer

Usage:
  limosa demo [-d 5s] [-o json]

Starts three services, a storefront that asks a catalog and an inventory, on
each way in which services of one host can reach each other, calls them and
compares every answer with the one that must come. Ends with a table, or with
its rows as JSON lines; the exit code is 0 only if every answer was right.
calls/s is with 16 callers that do nothing else; latencies and CPU time are taken
at two fifths of that rate, with calls that come at random. CPU time is that of
this process, which holds the callers and all services.

Example:
  limosa demo -d 10s

Flags:
  -d duration  time in all (5s if not given)
  -o string    output: text or json
  -help, -h    show help
[0]
$ version --help
limosa version: tell the version of this binary, of Go and of the sources

Usage:
  limosa version [-o json]

Example:
  limosa version -o json

Flags:
  -o string  output: text or json
  -help, -h  show help
[0]
$ help nothing
limosa: unknown command "nothing"; there are new, gen, breaking, list, describe, call, bench, demo, version (limosa --help)
[2]
`,
	"streams": `$ call FLOW Flow/count {"n":2} -idl DIR/flow.thrift
{"n":1}
{"n":2}
[0]
$ call FLOW Flow/count {"n":2} -idl DIR/flow.thrift -o json
{"message":{"n":1}}
{"message":{"n":2}}
{"took_us":0,"peer":"FLOW","metadata":{"seen":[""]},"messages":2}
[0]
$ call FLOW Flow/count {"n":9} -idl DIR/flow.thrift -limit 1
{"n":1}
[0]
$ call FLOW Flow/sum -idl DIR/flow.thrift
< {"n":1}\n{"n":2}\n
{
  "n": 3
}
[0]
$ call FLOW Flow/sum {"n":1}{"n":2} -idl DIR/flow.thrift -o json
{"result":{"n":3},"took_us":0,"peer":"FLOW","messages_sent":2}
[0]
$ call FLOW Flow/sum -idl DIR/flow.thrift
< {"n":1} {"n":"x"}
limosa call: message 2 does not fit Flow/sum: n: i64 is an integer, not the string "x" (at byte 14)
[2]
$ call FLOW Flow/sum -idl DIR/flow.thrift
< {"n":1} {"m":2}
limosa call: message 2 does not fit Flow/sum: Number has no field "m"; known are n, text (at byte 10)
[2]
$ call FLOW Flow/sum -idl DIR/flow.thrift
< {"n":1} {
limosa call: message 2 is no JSON: the text ends within it, at byte 9
[2]
$ call FLOW Flow/count {"n":-2} -idl DIR/flow.thrift
{"n":1}
{"n":2}
{"n":3}
limosa call: NotFound: Flow/count at FLOW: no more numbers
[1]
$ call FLOW Flow/count {"n":-2} -idl DIR/flow.thrift -o json
{"message":{"n":1}}
{"message":{"n":2}}
{"message":{"n":3}}
{"error":{"code":"NotFound","message":"NotFound: Flow/count at FLOW: no more numbers","sent":"processed"},"took_us":0,"peer":"FLOW","metadata":{"seen":[""]},"messages":3}
[1]
$ call FLOW Flow/count {} -idl DIR/flow.thrift
limosa call: the request does not fit Flow/count: Number needs the field "n"
[2]
$ call FLOW Flow/count {"n":2} -idl DIR/flow.thrift -limit 0
limosa call: -limit 0: want a number of messages, above zero
[2]
$ call FLOW Flow/count {"n":2} -idl DIR/flow.thrift -transport framed
limosa call: Unimplemented: Flow/count at FLOW: Flow/count is a stream, which framed messages cannot be
[1]
`,
}

// TestScripts compares all that each command says.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir()) // no ./idl here
	for name, text := range map[string]string{"hello.thrift": testIDL, "flow.thrift": flowIDL, "shapes.thrift": shapesIDL, "bad.thrift": "struct A {\n  1: strin name\n}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f := new(flowServer)
	// The last one is the beginning of others.
	places := [][2]string{{"DIR", dir}, {"ADDR", serveTold(t, nil)}, {"MUTE", new(testServer).serve(t)}, {"FLOW", f.serve(t)}, {"SHUT", serveTold(t, nil, onlyWithKey)}, {"GONE", "127.0.0.1:1"}}
	runScripts(t, scripts, places)
}

// runScripts compares all that the commands of scripts say, with places for names in them.
func runScripts(t *testing.T, scripts map[string]string, places [][2]string) {
	var there, back []string
	for _, p := range places {
		there, back = append(there, p[0], p[1]), append(back, p[1], p[0])
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			for _, step := range strings.Split("\n"+strings.TrimSuffix(script, "\n"), "\n$ ")[1:] {
				line, want, _ := strings.Cut(step, "\n")
				args := strings.Split(line, " ")
				stdin := ""
				if rest, ok := strings.CutPrefix(want, "< "); ok {
					stdin, want, _ = strings.Cut(rest, "\n")
					stdin = strings.ReplaceAll(stdin, `\n`, "\n")
				}
				for i := range args {
					args[i] = strings.NewReplacer(there...).Replace(args[i])
				}
				code, out, errs := runTool(t, stdin, args...)
				b, _ := json.Marshal(code)
				got := took.ReplaceAllString(strings.NewReplacer(back...).Replace(out+errs), `"took_us":0`) + "[" + string(b) + "]"
				if got != want {
					t.Errorf("limosa %s\n%s\nwant\n%s", line, got, want)
				}
			}
		})
	}
}

// onlyWithKey lets calls in that have a key, those that ask for the IDL as well.
func onlyWithKey(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	if c.Header.Get("key") == "" {
		return rpc.Errorf(rpc.Unauthenticated, "no key")
	}
	return next(ctx, c)
}

// took is what differs from one run to the next.
var took = regexp.MustCompile(`"took_us":[0-9.e+-]+`)
