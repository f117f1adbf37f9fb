// Package endpoint keeps the connections to one target: it dials them, chooses
// one for each call, replaces those that break, and leaves a target that is down
// in peace for a while. limosa.Client is an Endpoint with interceptors and
// options; docs/how/limosa.md tells its journeys.
//
// # A call
//
//	Do:      for each of at most three attempts
//	             acquire a connection; use it; release it
//	             again? only what was certainly not begun, or is idempotent; what its
//	             server has refused spends from what calls have earned
//	acquire: until there is a connection, or ctx ends
//	             choose, under the lock, the one thing to do next (a step)
//	             wait for it, without the lock, and choose anew
//	choose:  1. of those that carry many calls the one with the least load; under load
//	            another is dialled beside it, for the calls to come. Where all carry as many
//	            as their peer takes: a place in the line for whichever has room first
//	         2. an idle one of those that carry one call at a time, the last used first:
//	            those at the other end grow old and are reaped
//	         3. the dial that is under way; or a moment for the hello of a new peer
//	         4. a dial: one for all while the peer may turn out to carry many calls, else
//	            one for each call, sixteen at a time; the others queue
//
// # A peer's kind
//
// What a peer is shows on its first connection: it answers the offer with its hello, and
// then carries many calls, or it does not, and carries one at a time. The endpoint
// remembers that, but asks on each connection for calls again: what stands behind an
// address may be replaced. A peer without a hello may still take streams, several on a
// connection that carries nothing else.
//
// # A peer that is down
//
// Dials that fail are followed by a pause, twice as long each time up to two seconds and
// varied by chance, in which calls fail at once with the reason of the last dial. So do
// connections that are lost before their peer has said anything: what accepts and closes,
// as load balancers do whose servers are gone, is not dialled for every call. One word
// of the peer ends the pause. Failures that began before the last one was known count
// once: a thousand calls that meet one dead connection are one failure.
//
// # Locks
//
// Endpoint.mu guards all lists and counts, and the fields of the connections that are in
// them. It is held for choices, never for I/O, a wait or the user's code. The output lock
// of a connection is taken under it (Status), never the other way round: a connection
// tells that its status has changed (changed) when it holds none.
package endpoint
