package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/reflection"
	"github.com/limosa-rpc/limosa/rpc"
)

// serveTold serves testIDL's service with its IDL, over TLS if config is set.
func serveTold(t *testing.T, config *tls.Config, around ...rpc.Interceptor) string {
	t.Helper()
	return serveAll(t, &limosa.Server{Services: reflection.With(describedThrift(t)), TLS: config, Interceptors: around})
}

// describedThrift is testIDL's service with its IDL.
func describedThrift(t *testing.T) rpc.Service {
	t.Helper()
	svc := (&testServer{notes: make(chan string, 1)}).service()
	schema, err := thriftidl.Reader{}.Load(writeFile(t, "hello.thrift", testIDL))
	if err != nil {
		t.Fatal(err)
	}
	svc.IDL = thriftidl.Pack(schema.Files[0], func(*idl.File) string { return "hello.thrift" })
	return svc
}

const helloListed = `Hello
  Response Echo(1: Request req) throws (1: Oops oops)
  i64 add(1: i64 a, 2: i64 b)
  i64 twice(1: i64 n)
  oneway void note(1: string text)
  void ping()
`

func TestList(t *testing.T) {
	addr := serveTold(t, nil)
	t.Chdir(t.TempDir()) // no ./idl here
	for _, c := range []struct{ args, want string }{
		{"list " + addr, helloListed + "\nLimosaReflection\n  Description limosaDescribe()\n"},
		{"list " + addr + " -transport framed-compact", helloListed + "\nLimosaReflection\n  Description limosaDescribe()\n"},
		{"describe " + addr + " Hello", helloListed},
		{"describe " + addr + " Oops", "exception Oops {\n  1: string why\n}\n"},
		{"list -o json " + addr, `{"service":"Hello","methods":["Response Echo(1: Request req) throws (1: Oops oops)","i64 add(1: i64 a, 2: i64 b)",` +
			`"i64 twice(1: i64 n)","oneway void note(1: string text)","void ping()"]}` + "\n" +
			`{"service":"LimosaReflection","methods":["Description limosaDescribe()"]}` + "\n"},
		{"describe " + addr + " Hello/echo", `Response Echo(1: Request req) throws (1: Oops oops)

struct Request {
  1: string message
}

struct Response {
  1: string message
}

exception Oops {
  1: string why
}

# a request to fill in
limosa call ` + addr + ` Hello/Echo '{
  "message": ""
}'
`},
		{"describe " + addr + " Hello/ping", "void ping()\n\n# a request to fill in\nlimosa call " + addr + " Hello/ping\n"},
		{"call " + addr + ` Hello/add {"a":1,"b":2}`, "3\n"},
	} {
		if code, out, errs := runTool(t, "", strings.Split(c.args, " ")...); code != 0 || out != c.want || errs != "" {
			t.Errorf("%s: exit code %d\n%s%s\nwant\n%s", c.args, code, out, errs, c.want)
		}
	}
	silent := new(testServer).serve(t)
	if code, _, errs := runTool(t, "", "list", silent); code != 2 || !strings.Contains(errs, "does not tell its IDL (reflection.With") {
		t.Errorf("a server without reflection: exit code %d, %s", code, errs)
	}
}

const shapesIDL = `namespace go shapes
enum Size { SMALL = 1, LARGE = 2 }
typedef i64 Cents
const i32 MANY = 7
struct Leaf { 1: i32 n = MANY, 2: Size size = Size.LARGE, 3: bool on = true, 4: list<i32> l = [1], 5: optional double d = 0.5 }
struct Node { 1: list<Node> below, 2: Leaf leaf, 3: map<i32, Leaf> by, 4: map<Leaf, string> odd, 5: Cents cents, 6: binary raw, 7: uuid id }
union Choice { 1: Choice again, 2: string text }
service Shapes { void take(1: Node node, 2: Choice choice), stream<Leaf> leaves(1: stream<Leaf> in) }
`

// A request that describe shows is one that fits.
func TestSampleFits(t *testing.T) {
	schema, err := loadIDL([]string{writeFile(t, "shapes.thrift", shapesIDL)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := findMethod(schema.Schema, "Shapes/take")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"node":{"below":[],"leaf":LEAF,"by":{"0":LEAF},"odd":[{"key":LEAF,"value":""}],"cents":0,"raw":"","id":"00000000-0000-0000-0000-000000000000"},"choice":{"text":""}}`
	want = strings.ReplaceAll(want, "LEAF", `{"n":7,"size":"LARGE","on":true,"d":0.5}`)
	if got := strings.Join(strings.Fields(sampleRequest(nil, m)), ""); got != want {
		t.Errorf("the sample is\n%s\nwant\n%s", got, want)
	}
	for _, path := range []string{"Shapes/take", "Shapes/leaves"} {
		x := &target{link: &link{}}
		if err := x.of(schema.Schema, path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.arguments([]byte(sampleRequest(x.service, x.method))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCallTLS(t *testing.T) {
	cert, certFile, keyFile := testCertificate(t)
	pool := x509.NewCertPool()
	pool.AddCert(cert.Leaf)
	addr := serveTold(t, &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"-cacert " + certFile + " -cert " + certFile + " -key " + keyFile, 0, ""},
		{"-insecure -cert " + certFile + " -key " + keyFile, 0, ""},
		{"-tls -cert " + certFile + " -key " + keyFile, 1, "certificate"},
		{"-cacert " + certFile + " -servername other -cert " + certFile + " -key " + keyFile, 1, "other"},
		{"-cacert " + certFile, 1, "certificate"},
		{"", 1, "Unavailable"},
	} {
		code, out, errs := runTool(t, "", append([]string{"call", addr, "Hello/add", `{"a":40,"b":2}`}, strings.Fields(c.args)...)...)
		if code != c.code || code == 0 && out != "42\n" || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: exit code %d\n%s%s\nwant %d, %q", c.args, code, out, errs, c.code, c.errs)
		}
	}
	if code, out, errs := runTool(t, "", "call", "tls://"+addr, "Hello/add", `{"a":40,"b":2}`, "-insecure", "-cert", certFile, "-key", keyFile); code != 0 || out != "42\n" {
		t.Errorf("tls://: exit code %d\n%s%s", code, out, errs)
	}
	// :port is localhost, for which the certificate is not.
	port := addr[strings.LastIndexByte(addr, ':'):]
	own := []string{"call", port, "Hello/add", `{"a":40,"b":2}`, "-cacert", certFile, "-cert", certFile, "-key", keyFile}
	if code, out, errs := runTool(t, "", own...); code != 1 || !strings.Contains(errs, "localhost") {
		t.Errorf("%s: exit code %d\n%s%s", port, code, out, errs)
	}
	if code, out, errs := runTool(t, "", append(own, "-servername", "127.0.0.1")...); code != 0 || out != "42\n" {
		t.Errorf("%s by another name: exit code %d\n%s%s", port, code, out, errs)
	}
}

// testCertificate makes a certificate for 127.0.0.1 that is its own authority.
func testCertificate(t *testing.T) (pair tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	if pair, err = tls.X509KeyPair(certText, keyText); err != nil {
		t.Fatal(err)
	}
	return pair, writeFile(t, "cert.pem", string(certText)), writeFile(t, "key.pem", string(keyText))
}

func TestPersistentMetadata(t *testing.T) {
	m, err := parseHeader([]string{"a=1"}, []string{"b=2"})
	if err != nil || len(m) != 2 || m[0].Scope != rpc.Transient || m[1].Scope != rpc.Persistent {
		t.Errorf("%v, %v", m, err)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"cal", "call", 1}, {"clal", "call", 1}, {"bench", "bench", 0}, {"demo", "bench", 4}, {"", "x", 1}} {
		if got := distance(c.a, c.b, 9); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// What is shown is what a server serves. The project's files are shown in its place if it
// does not tell, which is said, and not if it could not be asked.
func TestListIsOfTheServer(t *testing.T) {
	mute := new(testServer).serve(t)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("idl", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("idl/other.thrift", []byte("service Other { void m() }"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args      string
		code      int
		out, errs string
	}{
		{"list", 0, "Other\n  void m()\n", ""},
		{"list 127.0.0.1:1", 1, "", "limosa list: asking the server for its IDL: Unavailable: LimosaReflection/limosaDescribe at 127.0.0.1:1: dial: connect: connection refused\n"},
		{"describe 127.0.0.1:1 Other", 1, "", "limosa describe: asking the server for its IDL: Unavailable: LimosaReflection/limosaDescribe at 127.0.0.1:1: dial: connect: connection refused\n"},
		{"list " + mute, 0, "Other\n  void m()\n", "limosa list: the server at " + mute + " does not tell its IDL; this is what idl/* says\n"},
		{"call 127.0.0.1:1 Other/m", 1, "", "limosa call: Unavailable: Other/m at 127.0.0.1:1: dial: connect: connection refused\n"},
	} {
		if code, out, errs := runTool(t, "", strings.Fields(c.args)...); code != c.code || out != c.out || errs != c.errs {
			t.Errorf("%s: %d\n%s%s", c.args, code, out, errs)
		}
	}
}

// A server that says nothing is waited for as long as -timeout says.
func TestListTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range [][]string{{"list", l.Addr().String()}, {"describe", l.Addr().String(), "Hello/Echo"}} {
		code, out, errs := runTool(t, "", append(args, "-timeout", "50ms")...)
		if code != 1 || out != "" || !strings.Contains(errs, "DeadlineExceeded") {
			t.Errorf("%s: exit code %d, %s%s", args, code, out, errs)
		}
		if code, _, errs := runTool(t, "", append(args, "-timeout", "-1s")...); code != 2 || !strings.Contains(errs, "-timeout -1s: want a time above zero, or 0 for none") {
			t.Errorf("%s: exit code %d, %s", args, code, errs)
		}
	}
}
