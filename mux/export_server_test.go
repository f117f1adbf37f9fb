package mux

// Workers counts the goroutines of a server's connection.
func Workers(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return s.workers
}

// Opened counts the streams that a server's connection has taken in and not begun.
func Opened(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return len(s.opened)
}

// BatchRoom is the number of events that the connection keeps the memory for.
func BatchRoom(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return cap(s.batch.list) + cap(s.batch.few)
}

// Promised is what t has set aside for answers.
func Promised(t *Total) int { return int(t.promised.taken.Load()) }

// Promise sets n bytes of t aside once there is room, unless unwanted ends the wait; Redeem
// gives them back.
func Promise(t *Total, n int, unwanted func() error) bool {
	return t.promise(n) || t.awaitPromise(n, unwanted) == nil
}

func Redeem(t *Total, n int) { t.redeem(n) }
