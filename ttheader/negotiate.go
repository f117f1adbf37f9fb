package ttheader

import (
	"encoding/binary"
	"net/url"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// How two of our kind find out about each other; docs/wire/negotiation.md is the
// source, and has the bytes:
//
//	client                                    server
//	  its first frame, with an offer    --->  of our kind: agrees on what both can do
//	  what the answer says is agreed    <---  a hello, before any answer
//	  the first answer, without a hello <---  of another kind: nothing is agreed
//
// The offer is one more string in a TTHeader, which Kitex passes over as it does all
// that it does not know. So asking costs a foreign peer nothing, and nobody waits for
// the hello: until it comes, the client speaks as it would to Kitex, one call at a
// time. Both sides derive the same from offer and hello, so that nothing has to be
// confirmed: the server from what it has read and what it can do itself, the client
// from the hello, in which the server has left out what it cannot.

// version is the newest of docs/wire/negotiation.md that this side speaks.
const version = 1

// abilities is what was agreed with a peer of our kind: it was said in the offer and
// in the hello, and this side understands it. Other peers, and those that were not
// heard yet, have none.
//
// The reader settles it (Session.in), and hands it to the sending side (Session.out)
// in the Tag of an event with Settings, whose bits these are.
type abilities uint32

const (
	ours        abilities = 1 << 10 // the peer said an offer or a hello: it understands the keys of this project
	multiplexed abilities = 1 << 11 // many calls in flight, answered in any order
	inPieces    abilities = 1 << 13 // large messages in pieces, small ones in between
	withStreams abilities = 1 << 15 // calls of several messages, with credit
	pieceCredit abilities = 1 << 17 // credit for pieces

	allAbilities = ours | multiplexed | inPieces | withStreams | pieceCredit
)

// said is what an offer and a hello call each ability, in the order in which they
// are written.
var said = [...]struct {
	name string
	abilities
}{{"mux", multiplexed}, {"chunks", inPieces}, {"streams", withStreams}, {"credit", pieceCredit}}

// has reports whether a has all of b.
func (a abilities) has(b abilities) bool { return a&b == b }

// add adds what the term name=value says.
func (a *abilities) add(name, value string) {
	for _, s := range said {
		if s.name == name && value == "1" {
			*a |= s.abilities
		}
	}
}

// whole is a without what does not go alone: pieces and streams are told apart by
// their calls' ids, and without pieces there is no credit for them.
func (a abilities) whole() abilities {
	if !a.has(multiplexed) {
		a &^= inPieces | withStreams
	}
	if !a.has(inPieces) {
		a &^= pieceCredit
	}
	return a
}

// text is what an offer or a hello with a says, after its version.
func (a abilities) text() string {
	t := "v=" + strconv.Itoa(version)
	for _, s := range said {
		if a.has(s.abilities) {
			t += ";" + s.name + "=1"
		}
	}
	return t
}

// tag gives a as a part of Tag[0]; agreedIn reads it.
func (a abilities) tag() uint64 { return uint64(a) }

// agreedIn reads what tag has written. Bits of Tag[0] that are no abilities are the other
// flags of session.go.
func agreedIn(tag [2]uint64) abilities { return abilities(tag[0]) & allAbilities }

// maxTerms bounds what is read of an offer or a hello.
const maxTerms = 32

// Offers and hellos are texts like v=1;mux=1;host=a%20b: terms with values that are
// escaped as those of a URL's query are. A later version adds terms, which this one
// passes over; it does not give those that there are another meaning.
//
// terms yields the parts "name=value" of an offer or a hello, unescaped. What
// is not of that form is passed over.
func terms(text []byte, yield func(name, value string)) {
	rest := string(text)
	for range maxTerms {
		var part string
		part, rest, _ = strings.Cut(rest, ";")
		name, value, ok := strings.Cut(part, "=")
		if v, err := url.QueryUnescape(value); ok && err == nil {
			yield(name, v)
		}
		if rest == "" {
			return
		}
	}
}

// offerText is what a client's first frame says.
func (s *Session) offerText() string {
	t := allAbilities.text()
	if s.p.Host != "" {
		t += ";host=" + url.QueryEscape(s.p.Host)
	}
	return t
}

// offered takes a client's offer. Parts that are not known are ignored.
func (s *Session) offered(ev *wire.Event, text []byte) {
	var v int
	can, doors := ours, false
	terms(text, func(name, value string) {
		switch can.add(name, value); name {
		case "v":
			v, _ = strconv.Atoi(value)
		case "host":
			doors = doors || value != "" && value == s.p.Host
		}
	})
	if s.p.NoPieces {
		can &^= inPieces
	}
	if v < 1 {
		s.in.agreed, ev.Tag[0] = 0, 0
		return
	}
	s.in.agreed = can.whole()
	ev.Flags |= wire.Settings
	if ev.Tag[0] |= s.in.agreed.tag(); doors {
		ev.Tag[0] |= tagDoors
	}
}

// helloText is a server's answer to an offer.
func (s *Session) helloText(tag [2]uint64) string {
	t := agreedIn(tag).text()
	if tag[0]&tagDoors == 0 {
		return t
	}
	if s.p.Unix != "" {
		t += ";unix=" + url.QueryEscape(s.p.Unix)
	}
	if s.p.Shm != "" {
		t += ";shm=" + url.QueryEscape(s.p.Shm)
	}
	return t
}

// welcomed takes a server's hello, if it was asked for and comes in time.
func (s *Session) welcomed(ev *wire.Event, h *header) {
	if !s.offers || s.in.settled || h.seq != 0 {
		return
	}
	can := ours
	terms(h.hello, func(name, value string) {
		switch can.add(name, value); name {
		case "unix":
			ev.Header.Add(KeyUnix, value)
		case "shm":
			ev.Header.Add(KeyShm, value)
		}
	})
	s.in.settled, s.in.agreed = true, can.whole()
	ev.Flags |= wire.Settings
	ev.Tag[0] |= s.in.agreed.tag()
}

// appendSignal appends a whole frame: a TTHeader with one string, and no
// message.
func (s *Session) appendSignal(out *buf.Out, seq uint32, key, value string) {
	w := writer{b: be32(out.Block(), 0)}
	w.open(0, seq, 0)
	w.str("", key, value)
	w.close()
	binary.BigEndian.PutUint32(w.b, uint32(len(w.b)-4))
	out.Commit(w.b)
}
