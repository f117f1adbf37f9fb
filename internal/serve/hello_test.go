package serve_test

import (
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// A hello of 60 KB is cut short, whatever protocols the server offers by name: thousands of
// strangers would have it keep what has come. Who may be asked for a certificate may say
// more, until the time of a handshake is over.
func TestLongHello(t *testing.T) {
	chooses := rig.ServerTLS()
	chooses.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }
	record := append([]byte{22, 3, 1, 0x20, 0}, make([]byte, 0x2000)...)
	first := append([]byte(nil), record...)
	copy(first[5:], []byte{1, 0, 0xf0, 0}) // ClientHello
	for name, tt := range map[string]struct {
		config    *tls.Config
		protocols []wire.Protocol
		ends      bool
	}{
		"thrift":         {rig.ServerTLS(), nil, true},
		"HTTP by name":   {rig.ServerTLS(), []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}}, true},
		"may be asked":   {chooses, nil, false},
		"asked, by name": {chooses, []wire.Protocol{web.Protocol{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(nil)
				stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, TLS: tt.config, Protocols: tt.protocols})
				c, err := n.Dial(t.Context(), "client", "server")
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				conn := c.NetConn()
				for _, p := range [][]byte{first, record, record} {
					conn.Write(p) //nolint:errcheck // it may have ended
				}
				conn.Read(make([]byte, 1)) //nolint:errcheck // the end of it
				if d := time.Since(start); tt.ends != (d < time.Second) {
					t.Errorf("the server has gone after %v", d)
				}
				conn.Close()
				stop()
				<-ended
			})
		})
	}
}
