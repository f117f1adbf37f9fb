package ttheader

import (
	"encoding/binary"
	"net/url"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// version is the newest of docs/wire/negotiation.md that this side speaks.
const version = 1

// maxTerms bounds what is read of an offer or a hello.
const maxTerms = 32

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
	t := "v=" + strconv.Itoa(version) + ";mux=1;chunks=1;streams=1;credit=1"
	if s.p.Host != "" {
		t += ";host=" + url.QueryEscape(s.p.Host)
	}
	return t
}

// offered takes a client's offer. Parts that are not known are ignored.
func (s *Session) offered(ev *wire.Event, text []byte) {
	var v int
	terms(text, func(name, value string) {
		switch name {
		case "v":
			v, _ = strconv.Atoi(value)
		case "mux":
			s.in.mux = value == "1"
		case "chunks":
			s.in.chunks = value == "1" && !s.p.NoChunks
		case "streams":
			s.in.streams = value == "1"
		case "credit":
			s.in.paced = value == "1"
		case "host":
			if value != "" && value == s.p.Host {
				ev.Tag[0] |= tagDoors
			}
		}
	})
	if v < 1 {
		s.in.mux, s.in.chunks, s.in.streams, s.in.paced = false, false, false, false
		ev.Tag[0] = 0
		return
	}
	// Pieces and streams are told apart by their calls' ids.
	s.in.chunks, s.in.streams = s.in.chunks && s.in.mux, s.in.streams && s.in.mux
	s.in.paced = s.in.paced && s.in.chunks
	ev.Flags |= wire.Settings
	ev.Tag[0] |= tagOffer
	if s.in.mux {
		ev.Tag[0] |= tagMux
	}
	if s.in.chunks {
		ev.Tag[0] |= tagChunks
	}
	if s.in.streams {
		ev.Tag[0] |= tagStreams
	}
	if s.in.paced {
		ev.Tag[0] |= tagPaced
	}
}

// helloText is a server's answer to an offer.
func (s *Session) helloText(tag uint64) string {
	t := "v=" + strconv.Itoa(version)
	if tag&tagMux != 0 {
		t += ";mux=1"
	}
	if tag&tagChunks != 0 {
		t += ";chunks=1"
	}
	if tag&tagStreams != 0 {
		t += ";streams=1"
	}
	if tag&tagPaced != 0 {
		t += ";credit=1"
	}
	doors := tag&tagDoors != 0
	if doors && s.p.Unix != "" {
		t += ";unix=" + url.QueryEscape(s.p.Unix)
	}
	if doors && s.p.Shm != "" {
		t += ";shm=" + url.QueryEscape(s.p.Shm)
	}
	return t
}

// welcomed takes a server's hello, if it was asked for and comes in time.
func (s *Session) welcomed(ev *wire.Event, h *header) {
	if !s.offers || s.in.settled || h.seq != 0 {
		return
	}
	s.in.settled, s.in.kin = true, true
	ev.Flags |= wire.Settings
	ev.Tag[0] |= tagOffer
	terms(h.hello, func(name, value string) {
		switch name {
		case "mux":
			if value == "1" {
				ev.Tag[0] |= tagMux
			}
		case "chunks":
			if value == "1" {
				s.in.chunks = true
				ev.Tag[0] |= tagChunks
			}
		case "streams":
			if value == "1" {
				s.in.streams = true
				ev.Tag[0] |= tagStreams
			}
		case "credit":
			if value == "1" {
				s.in.paced = true
				ev.Tag[0] |= tagPaced
			}
		case "unix":
			ev.Header.Add(KeyUnix, value)
		case "shm":
			ev.Header.Add(KeyShm, value)
		}
	})
	if ev.Tag[0]&tagMux == 0 {
		s.in.chunks, s.in.streams = false, false
		ev.Tag[0] &^= tagChunks | tagStreams
	}
	if !s.in.chunks {
		s.in.paced = false
		ev.Tag[0] &^= tagPaced
	}
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
