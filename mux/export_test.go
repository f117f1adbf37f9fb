package mux

import "github.com/limosa-rpc/limosa/wire"

// OpenStreams counts the streams that both ends of a connection hold.
func OpenStreams(c *Conn, s *ServerConn) (client, server int) {
	c.out.Lock()
	client = c.streams.open
	if c.streams.held != 0 && client == 0 {
		client = -1
	}
	c.unlock(false)
	s.out.Lock()
	server = s.streams.open
	if server == 0 && (len(s.open) != 0 || s.streams.held != 0 || s.streams.grown != 0) {
		server = -1
	}
	s.unlock()
	return client, server
}

// Abandoned counts the slots that wait for late answers.
func Abandoned(c *Conn) int {
	c.out.Lock()
	defer c.unlock(false)
	return c.abandoned
}

// Held is what waits to be received on streams.
func Held(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return s.streams.held
}

// Paced reports whether side does not read for a while.
func Paced(c *Conn, s *ServerConn, side wire.Side) bool {
	if side == wire.Client {
		return c.streams.pace.pressed.Load() != nil
	}
	return s.streams.pace.pressed.Load() != nil
}
