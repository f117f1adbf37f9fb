package mux

// Workers counts the goroutines of a server's connection.
func Workers(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return s.workers
}

// BatchRoom is the number of events that the connection keeps the memory for.
func BatchRoom(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return cap(s.batch.list) + cap(s.batch.few)
}
