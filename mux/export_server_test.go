package mux

// Workers counts the goroutines of a server's connection.
func Workers(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return s.workers
}
