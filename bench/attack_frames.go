package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"strconv"
	"strings"
)

// What an attacker says. The bytes are made here and not by the package that is
// attacked, which would refuse to make most of them.

const theOffer = "v=1;mux=1;chunks=1;streams=1;credit=1"

// A head is a TTHeader in the making.
type head struct {
	flags    uint16
	seq      uint32
	protocol byte
	strings  [][2]string
	ints     map[uint16]string
}

// frame gives the whole frame with body behind the header. declared, if it is
// not 0, stands in the frame for its length.
func (h head) frame(body []byte, declared int) []byte {
	b := make([]byte, 4, 64+len(body))
	b = binary.BigEndian.AppendUint16(b, 0x1000)
	b = binary.BigEndian.AppendUint16(b, h.flags)
	b = binary.BigEndian.AppendUint32(b, h.seq)
	b = append(b, 0, 0, h.protocol, 0)
	text := func(s string) { b = append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...) }
	if len(h.strings) > 0 {
		b = binary.BigEndian.AppendUint16(append(b, 1), uint16(len(h.strings)))
		for _, p := range h.strings {
			text(p[0])
			text(p[1])
		}
	}
	if len(h.ints) > 0 {
		b = binary.BigEndian.AppendUint16(append(b, 0x10), uint16(len(h.ints)))
		for k, v := range h.ints {
			b = binary.BigEndian.AppendUint16(b, k)
			text(v)
		}
	}
	for (len(b)-14)%4 != 0 {
		b = append(b, 0)
	}
	binary.BigEndian.PutUint16(b[12:], uint16((len(b)-14)/4))
	b = append(b, body...)
	n := len(b) - 4
	if declared > 0 {
		n = declared
	}
	binary.BigEndian.PutUint32(b, uint32(n))
	return b
}

// offering adds the offer of a peer of Limosa's kind.
func (h head) offering() head {
	h.strings = append(h.strings, [2]string{"limosa-offer", theOffer})
	return h
}

// message is a message of the strict Binary protocol.
func message(method string, typ byte, seq uint32, body []byte) []byte {
	b := append([]byte{0x80, 1, 0, typ}, binary.BigEndian.AppendUint32(nil, uint32(len(method)))...)
	b = append(b, method...)
	return append(binary.BigEndian.AppendUint32(b, seq), body...)
}

// argument is the struct of an argument Message with id and text.
func argument(id int64, text string) []byte {
	b := []byte{12, 0, 1}
	b = append(b, plainMessage(id, text)...)
	return append(b, 0)
}

// plainMessage is the Message alone, as a stream has it.
func plainMessage(id int64, text string) []byte {
	b := binary.BigEndian.AppendUint64([]byte{10, 0, 1}, uint64(id))
	b = append(binary.BigEndian.AppendUint32(append(b, 11, 0, 2), uint32(len(text))), text...)
	return append(b, 0)
}

// request is a call on TTHeader.
func request(method string, seq uint32, id int64, text string) []byte {
	return head{seq: seq}.frame(message(method, 1, seq, argument(id, text)), 0)
}

// firstRequest is request with the offer.
func firstRequest(method string, seq uint32, id int64, text string) []byte {
	return head{seq: seq}.offering().frame(message(method, 1, seq, argument(id, text)), 0)
}

// framed puts a length before a message.
func framed(m []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(m))), m...)
}

// framedRequest is a whole call in the framed form, made by hand.
func framedRequest(method string, seq uint32, id int64, text string) []byte {
	return framed(message(method, 1, seq, argument(id, text)))
}

// cancel gives a call up.
func cancelFrame(seq uint32) []byte {
	return head{seq: seq, strings: [][2]string{{"limosa-cancel", "1"}}}.frame(nil, 0)
}

// Types of frames of a stream, and the keys that they stand under.
const (
	streamMeta, streamHeader, streamData, streamTrailer, streamReset = "1", "2", "3", "4", "5"

	flagOfStream = 2
	flagOfPiece  = 0x100
)

// streamFrame is one TTHeader frame of a stream, made by hand: what an honest client would never send can be, too.
func streamFrame(typ, method string, seq uint32, pairs [][2]string, body []byte) []byte {
	return head{flags: flagOfStream, seq: seq, protocol: 0x10, strings: pairs, ints: map[uint16]string{27: typ, 9: method}}.frame(body, 0)
}

// openStream opens a stream; with the offer if it is the connection's first frame.
func openStream(method string, seq uint32, first bool) []byte {
	pairs := [][2]string{{"isn", "Echo"}}
	if first {
		pairs = append(pairs, [2]string{"limosa-offer", theOffer})
	}
	return streamFrame(streamHeader, method, seq, pairs, nil)
}

// piece is the first piece of a message of total bytes, or a later one.
func firstPiece(method string, seq uint32, total int, part []byte) []byte {
	m := message(method, 1, seq, part)
	return head{seq: seq, strings: [][2]string{{"limosa-total", strconv.Itoa(total)}}}.frame(m, 0)
}

// laterPiece is a piece of a message behind the first one.
func laterPiece(seq uint32, part []byte) []byte {
	return head{flags: flagOfPiece, seq: seq}.frame(part, 0)
}

// theader puts a THeader with zlib, applied by the sender, before packed.
func theader(seq uint32, transforms int, packed []byte) []byte {
	b := make([]byte, 4, 32+len(packed))
	b = binary.BigEndian.AppendUint16(b, 0x0fff)
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = append(b, 0, 0, 0, byte(transforms))
	for range transforms {
		b = append(b, 1)
	}
	for (len(b)-14)%4 != 0 {
		b = append(b, 0)
	}
	binary.BigEndian.PutUint16(b[12:], uint16((len(b)-14)/4))
	b = append(b, packed...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// packed compresses as often as it is told.
func packed(p []byte, times int) []byte {
	for range times {
		var out bytes.Buffer
		w, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
		if err != nil {
			panic(err) // the level is one of package zlib
		}
		w.Write(p) //nolint:errcheck // to memory
		w.Close()
		p = out.Bytes()
	}
	return p
}

// zeros is a text that compresses well.
func zeros(n int) string { return strings.Repeat("\x00", n) }
