package web

import "github.com/limosa-rpc/limosa/wire"

// Remembered is how many streams a session knows of, on either side of it.
func Remembered(s wire.Session) int {
	x := s.(*Session)
	return len(x.in.streams) + len(x.out.streams) + len(x.out.turned) + len(x.in.steps) - x.in.next
}
