package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// linkFlags are those of the commands that connect to a server.
func linkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "transport", Value: "ttheader", Usage: "framing: " + strings.Join(formNames(), ", ") + " (ttheader if not given)"},
		&cli.BoolFlag{Name: "multiplexed", Usage: "send Service:Method as the method's name, as Apache's TMultiplexedProtocol does"},
		&cli.StringSliceFlag{Name: "H", Usage: "metadata for the server, as key=value; may be repeated"},
		&cli.StringSliceFlag{Name: "P", Usage: "persistent metadata, which the server passes on to whom it calls; may be repeated"},
		&cli.BoolFlag{Name: "tls", Usage: "speak TLS, and check the server against the system's authorities"},
		&cli.StringFlag{Name: "cacert", Usage: "PEM FILE with the authorities to check the server against; implies -tls"},
		&cli.StringFlag{Name: "cert", Usage: "PEM FILE with the certificate to show to the server; with -key, implies -tls"},
		&cli.StringFlag{Name: "key", Usage: "PEM FILE with the key of -cert"},
		&cli.StringFlag{Name: "servername", Usage: "name that the server's certificate must have; the host of ADDR if not given"},
		&cli.BoolFlag{Name: "insecure", Usage: "do not check the server's certificate; implies -tls"},
	}
}

// forms are what -transport takes, by their names in a target.
var forms = []limosa.Form{limosa.TTHeader, limosa.THeader, limosa.Framed, limosa.Buffered,
	limosa.THeaderCompact, limosa.FramedCompact, limosa.BufferedCompact}

// formNames are the words for -form, in the order of the forms.
func formNames() (names []string) {
	for _, f := range forms {
		names = append(names, f.String())
	}
	return names
}

// bare reports forms that have no place for metadata.
func bare(f limosa.Form) bool {
	return slices.Contains([]limosa.Form{limosa.Framed, limosa.Buffered, limosa.FramedCompact, limosa.BufferedCompact}, f)
}

// A link is what the flags and an address make of a connection.
//
// The metadata goes with every call, also with the one that asks for the IDL.
type link struct {
	client *limosa.Client
	header rpc.Metadata
	grpc   bool // the address asks for it
}

// openLink makes the client; it does not connect.
//
// What can be known to be wrong without the server is an error of usage here.
func openLink(c *cli.Command, addr string) (*link, error) {
	// Taken off here, since -cacert and the like add to what the address asks for.
	addr, secure := strings.CutPrefix(addr, "tls://")
	to, err := endpoint.ParseTarget(addr)
	if err != nil {
		return nil, usageError{err}
	}
	l := &link{}
	protocols, err := l.protocols(c, to.Settings.Get("protocol"))
	if err != nil {
		return nil, err
	}
	form, err := parseForm(c.String("transport"))
	if err != nil {
		return nil, err
	}
	if in := to.Settings.Get("thrift"); in != "" {
		if c.IsSet("transport") {
			return nil, usagef("-transport and thrift= in the address: give one of them")
		}
		if f, err := parseForm(in); err == nil {
			form = f
		} // else Dial tells
	}
	if l.header, err = parseHeader(c.StringSlice("H"), c.StringSlice("P")); err != nil {
		return nil, err
	}
	// A client would make the call without, and log it once; who typed a flag wants it sent.
	if len(l.header) > 0 && bare(form) {
		return nil, usagef("-H and -P need ttheader or theader: %v messages have no place for metadata", form)
	}
	if l.grpc {
		if err := carriedByGRPC(l.header); err != nil {
			return nil, err
		}
	}
	config, err := tlsConfig(c, secure)
	if err != nil {
		return nil, err
	}
	if config != nil && strings.HasPrefix(addr, "unix:") {
		return nil, usagef("TLS is for TCP; a unix socket is guarded by its file's permissions")
	}
	if config != nil && config.ServerName == "" && strings.HasPrefix(addr, ":") {
		config.ServerName = "localhost" // which :port is
	}
	// Dial tells at once what is wrong with an address.
	// The client itself has settings that Dial takes by functions, and checks them with its
	// first call.
	probe, err := limosa.Dial(addr, func(c *limosa.Client) { c.Protocols = protocols })
	if err != nil {
		return nil, usageError{err}
	}
	_ = probe.Close() // it has no connection that could fail to close
	if c.Bool("multiplexed") {
		addr = withSetting(addr, "multiplexed=true")
	}
	l.client = &limosa.Client{Target: addr, Thrift: form, Protocols: protocols, TLS: config}
	return l, nil
}

// protocols are those that the client needs besides Thrift: the one that is named. Flags that have no meaning for it
// are refused.
func (l *link) protocols(c *cli.Command, name string) ([]wire.Protocol, error) {
	switch name {
	case "", "thrift":
		return nil, nil
	case "grpc":
		l.grpc = true
	default:
		return nil, usagef("unknown ?protocol=%s in the address%s; it is thrift or grpc", name, didYouMean(name, []string{"thrift", "grpc"}))
	}
	for _, flag := range []string{"transport", "multiplexed"} {
		if c.IsSet(flag) {
			return nil, usagef("-%s is for Thrift, and the address asks for gRPC", flag)
		}
	}
	return []wire.Protocol{web.Protocol{}}, nil
}

// carriedByGRPC refuses metadata that gRPC would leave out, or not treat as was asked for.
func carriedByGRPC(header rpc.Metadata) error {
	for _, p := range header {
		switch {
		case p.Scope == rpc.Persistent:
			return usagef("-P %s: gRPC has no metadata that servers pass on; give it with -H", p.Key)
		case len(grpc.AppendPair(nil, p)) == 0:
			return usagef("-H %s: that name belongs to HTTP and gRPC themselves", p.Key)
		}
	}
	return nil
}

// withSetting is a target with one setting more.
func withSetting(addr, setting string) string {
	if strings.Contains(addr, "?") {
		return addr + "&" + setting
	}
	return addr + "?" + setting
}

// parseForm finds a form by its name in a target.
func parseForm(s string) (limosa.Form, error) {
	i := slices.IndexFunc(forms, func(f limosa.Form) bool { return f.String() == s })
	if i < 0 {
		return 0, usagef("unknown -transport %q%s; it is one of %s", s, didYouMean(s, formNames()), strings.Join(formNames(), ", "))
	}
	return forms[i], nil
}

// parseHeader makes metadata of -H and -P. The key ends at the first =, so that
// a value may hold others. Names and sizes are checked as a client checks them,
// so that what is wrong is an error of usage and not of each call.
func parseHeader(once, persistent []string) (rpc.Metadata, error) {
	var m rpc.Metadata
	// Whether one is persistent its place tells: all of -H come first.
	for i, p := range slices.Concat(once, persistent) {
		key, value, ok := strings.Cut(p, "=")
		switch {
		case !ok && i < len(once):
			return nil, usagef("-H %q is not key=value", p)
		case !ok:
			return nil, usagef("-P %q is not key=value", p)
		case i < len(once):
			m.Add(key, value)
		default:
			m.SetPersistent(key, value)
		}
	}
	if err := m.Check(rpc.Limits{}.WithDefaults()); err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// tlsConfig gives what the flags say of TLS; nil: nothing. A flag that has no
// meaning without TLS asks for it, but for -servername: it does not say by which
// authorities the server is to be checked, and is refused alone.
func tlsConfig(c *cli.Command, secure bool) (*tls.Config, error) {
	cacert, cert, key := c.String("cacert"), c.String("cert"), c.String("key")
	if (cert == "") != (key == "") {
		return nil, usagef("-cert and -key belong together")
	}
	if !secure && !c.Bool("tls") && !c.Bool("insecure") && cacert == "" && cert == "" {
		if c.IsSet("servername") {
			return nil, usagef("-servername is for TLS: give -tls, -cacert or -insecure as well")
		}
		return nil, nil
	}
	config := &tls.Config{ServerName: c.String("servername"), InsecureSkipVerify: c.Bool("insecure")}
	if cacert != "" {
		text, err := os.ReadFile(cacert)
		if err != nil {
			return nil, fileError(err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("-cacert %s: no certificate in PEM form in it", cacert)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			// The error names the file; other faults, such as a key of another certificate, name none.
			if errors.Is(err, fs.ErrNotExist) {
				return nil, usageError{err}
			}
			return nil, usagef("-cert %s, -key %s: %w", cert, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// fileError is the error of a file that was named and could not be read.
func fileError(err error) error {
	for _, known := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.EISDIR} {
		if errors.Is(err, known) {
			return usageError{err}
		}
	}
	return err
}
