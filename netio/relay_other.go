//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package netio

// sockLane finds no sockets here.
func (r *relay) sockLane(src, dst Conn) relayLane { return nil }
