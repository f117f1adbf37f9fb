// Package http1 is HTTP/1.1 (RFC 9112), with HTTP/1.0 peers, as a pure state
// machine, for both sides of a connection: bytes in, events out, and back. It
// knows no socket, clock or goroutine, and neither what a call is nor what a
// message is. It takes what every strict parser takes, and refuses the rest: what
// two programs on the way of a request read in two ways is how requests are smuggled.
//
// # Duties of a user
//
// A [Session] has two halves. Who reads the connection calls Clock, Cut, EOF, Allow,
// Held and Unfinished; who holds the lock of its output calls Begin, End and Caps; and
// only who has both at once calls Apply. So facts cross from one half to the other
// as events only, but for one word: how the answer to the request in flight is framed
// depends on the request. The loop of a reader:
//
//	s.Clock(now)
//	for {
//		need, err := s.Cut(in, &ev)
//		if err != nil { end the connection }
//		if need > 0 { break } // until so many more bytes have arrived
//		batch = append(batch, ev)
//	}
//	lock the output
//	for each event of the batch: s.Apply(out, &ev)
//	unlock; flush; then look at what flags the events have left
//
// Apply sees each event, in order, before anything else is made of it. It
// appends what has to be answered, and clears the flags of what nobody needs to
// see. An event that still has Close then is the last: the connection ends once the
// output has left.
//
// A message to be sent, or a part of one, is begun, its body is appended to the Out,
// and it is ended:
//
//	m := s.Begin(out, &send)
//	encode the body into out
//	if err := s.End(out, m, &send); err != nil { out.Truncate(m) }
//	if send.Flags&Close != 0 { end the connection once the output has left }
//
// Nothing that Begin did counts until End has returned nil: the next Begin or
// Apply takes back what was begun and not ended. Answers are begun in the order of
// their requests, and a client has one request in flight.
//
// [Event] says what a server and a client do with each, and [NewHead] what is told in a head.
package http1
