package endpoint_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
)

// Why a server refuses connections that no call waits for, since calls have less time
// than a dial takes, is told all the same: it stands in the pause that they lead to.
func TestLastWordsOnConnectionsThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: 10 * time.Millisecond} })
		secure := rig.ServerTLS()
		secure.ClientAuth = tls.RequireAnyClientCert
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, TLS: secure})
		c := rig.NetClient(n, &limosa.Client{TLS: &tls.Config{InsecureSkipVerify: true}})
		told := ""
		for range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := rig.Call(ctx, c, rig.Echo, "")
			cancel()
			told = fmt.Sprint(err)
			time.Sleep(time.Second) // virtual: the connection is made, and refused
		}
		if !strings.Contains(told, "certificate required") {
			t.Errorf("a call is told %s", told)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		c.Close()
	})
}
