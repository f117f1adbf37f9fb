// Package http2 is HTTP/2 (RFC 9113, RFC 7541) as a pure state machine, for
// both sides of a connection: bytes in, events out, and back. It knows no
// socket, clock or goroutine, and neither what a call is nor what a message is.
//
// # Duties of a user
//
// A [Session] has two halves. Who reads the connection calls Cut; who holds the
// lock of its output calls Begin, End, Credit, Caps, Kept and Unstarted; and
// only who has both at once calls Apply. So facts cross from one half to the other
// as events only. The loop of a reader:
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
// see. An event with Close is the last: the connection ends once the output has left.
//
// A frame to be sent is begun, its body is appended to the Out, and it is ended:
//
//	m := s.Begin(out, &send)
//	encode the body into out
//	if err := s.End(out, m, &send); err != nil { out.Truncate(m) }
//
// Nothing that Begin did counts until End has returned nil: the next Begin or
// Apply takes back what was begun and not ended.
package http2
