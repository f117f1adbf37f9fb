package guide_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/rpc"
)

// certificates writes an authority and, signed by it, a certificate and a key
// for a server and for a client below dir.
func certificates(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	if err := write(dir, "ca", ca, ca, &key.PublicKey, key); err != nil {
		return err
	}
	for i, name := range []string{"server", "client"} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), Subject: pkix.Name{CommonName: name},
			NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if err := write(dir, name, c, ca, &own.PublicKey, key); err != nil {
			return err
		}
		der, err := x509.MarshalPKCS8PrivateKey(own)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func write(dir, name string, c, by *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, c, by, public, key)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

//guide:begin tls-load
func identity(dir, name string) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("no certificate in ca.pem")
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		RootCAs:      pool,                           // whom a client trusts
		ClientCAs:    pool,                           // whom a server trusts,
		ClientAuth:   tls.RequireAndVerifyClientCert, // and asks for
	}, nil
}

//guide:end

//guide:begin tls-identity
func onlyFor(name string) rpc.Interceptor {
	return func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
		who := c.PeerInfo().Identity() // *x509.Certificate; nil without one
		if who == nil || who.Subject.CommonName != name {
			return rpc.Errorf(rpc.PermissionDenied, "%s may call, and nobody else", name)
		}
		return next(ctx, c)
	}
}

//guide:end

func Example_tls() {
	dir, err := os.MkdirTemp("", "guide")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := certificates(dir); err != nil {
		fmt.Println(err)
		return
	}
	//guide:begin tls-server
	serverTLS, err := identity(dir, "server")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := limosa.Server{
		Services:     []rpc.Service{books.Service(newShop())},
		Interceptors: []rpc.Interceptor{onlyFor("client")},
		TLS:          serverTLS,
	}
	//guide:end
	addr, stop := running(&server)
	defer stop()
	//guide:begin tls-client
	clientTLS, err := identity(dir, "client")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &limosa.Client{Target: addr, TLS: clientTLS}
	defer client.Close()
	b, err := books.NewClient(client).Get(context.Background(), 1)
	//guide:end
	fmt.Println(b, err)

	//guide:begin tls-dial
	public, err := books.Dial("tls://" + addr) // with the system's roots
	if err != nil {
		fmt.Println(err)
		return
	}
	defer public.Close()
	own, err := books.Dial("tls://"+addr, func(c *limosa.Client) { c.TLS = clientTLS })
	//guide:end
	if err != nil {
		fmt.Println(err)
		return
	}
	defer own.Close()
	_, err = public.Get(context.Background(), 1)
	var unknown x509.UnknownAuthorityError
	fmt.Println(rpc.CodeOf(err), errors.As(err, &unknown))
	b, err = own.Get(context.Background(), 1)
	fmt.Println(b, err)

	otherTLS, err := identity(dir, "server") // a certificate of the authority, for somebody else
	if err != nil {
		fmt.Println(err)
		return
	}
	other := &limosa.Client{Target: addr, TLS: otherTLS}
	defer other.Close()
	_, err = books.NewClient(other).Get(context.Background(), 1)
	fmt.Println(rpc.CodeOf(err))

	stranger := &limosa.Client{Target: addr, TLS: &tls.Config{RootCAs: clientTLS.RootCAs}} // without a certificate
	defer stranger.Close()
	_, err = books.NewClient(stranger).Get(context.Background(), 1)
	fmt.Println(rpc.CodeOf(err))
	// Output:
	// Book{id:1 title:"Go"} <nil>
	// Unavailable true
	// Book{id:1 title:"Go"} <nil>
	// PermissionDenied
	// Unavailable
}
