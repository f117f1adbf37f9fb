package sys

import "golang.org/x/sys/unix"

// PeerCred gives the process that has connected the unix socket fd, as it was then.
func PeerCred(fd uintptr) (pid int, uid, gid uint32, err error) {
	u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, 0, err
	}
	return int(u.Pid), u.Uid, u.Gid, nil
}
