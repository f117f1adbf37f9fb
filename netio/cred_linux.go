package netio

import "github.com/limosa-rpc/limosa/internal/sys"

// Credentials gives the process that has connected a unix socket, as the kernel knew
// it then; ok is false for other sockets, and once the connection is closed.
func (c *sockConn) Credentials() (pid int, uid, gid uint32, ok bool) {
	if c.Remote().Network() != "unix" {
		return 0, 0, 0, false
	}
	var err error
	if c.raw.Control(func(fd uintptr) { pid, uid, gid, err = sys.PeerCred(fd) }) != nil {
		return 0, 0, 0, false
	}
	return pid, uid, gid, err == nil
}

// Credentials is that of every socket.
func (c *loopConn) Credentials() (pid int, uid, gid uint32, ok bool) {
	if c.tcp || !c.handle.use() {
		return 0, 0, 0, false
	}
	defer c.handle.done()
	pid, uid, gid, err := sys.PeerCred(c.handle.fd)
	return pid, uid, gid, err == nil
}
