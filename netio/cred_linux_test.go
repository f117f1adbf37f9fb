package netio_test

import (
	"os"
	"testing"

	"github.com/limosa-rpc/limosa/netio"
)

// The kernel tells who is at the other end of a unix socket, on loops and beside them,
// as long as it is open; of TCP it knows nothing.
func TestCredentials(t *testing.T) {
	type knows interface {
		Credentials() (pid int, uid, gid uint32, ok bool)
	}
	for _, loops := range []int{0, 1} {
		for _, network := range []string{"unix", "tcp"} {
			a, b, stop := dialedBy(t, network, &netio.Config{Net: new(netio.Net), Loops: loops})
			for _, c := range []netio.Conn{a, b} {
				k, is := c.(knows)
				if !is {
					t.Fatalf("%T tells nothing", c)
				}
				pid, uid, gid, ok := k.Credentials()
				if ok != (network == "unix") {
					t.Errorf("%s, %d loops: %v", network, loops, ok)
				}
				if ok && (pid != os.Getpid() || int(uid) != os.Getuid() || int(gid) != os.Getgid()) {
					t.Errorf("%s, %d loops: process %d of %d:%d", network, loops, pid, uid, gid)
				}
				c.Abort()
				if _, _, _, ok := k.Credentials(); ok {
					t.Errorf("%s, %d loops: a closed connection tells who was there", network, loops)
				}
			}
			stop()
		}
	}
}
