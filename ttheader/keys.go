package ttheader

import (
	"strings"

	"github.com/limosa-rpc/limosa/rpc"
)

// Info blocks of a TTHeader, by id. One that is not among them ends the connection: how
// long it is cannot be known, and so not what follows.
const (
	blockPadding = 0x00
	blockStrings = 0x01
	blockInts    = 0x10
	blockToken   = 0x11
)

// Int keys of Kitex that mean something here. The others are read past.
const (
	intTransport   = 1 // "framed" or "unframed"
	intMethod      = 9
	intTimeout     = 12 // milliseconds
	intMessageType = 22
	intFrameType   = 27 // of a stream frame
)

// String keys of Kitex that mean something here.
const (
	keyService    = "isn"
	keyReset      = "crrst" // "1": the connection will be reset
	keyChecksum   = "crc32c"
	keyBizStatus  = "biz-status"
	keyBizMessage = "biz-message"
	keyBizExtra   = "biz-extra"

	prefixPersistent = "RPC_PERSIST_"
	prefixTransient  = "RPC_TRANSIT_"
	tokenKey         = "gdpr-token" // travels in the token block
)

// String keys of this project: docs/wire/negotiation.md and
// docs/wire/ttheader.md. Only peers that showed that they know them get them.
const (
	keyOffer   = "limosa-offer"   // client, first frame
	keyHello   = "limosa-hello"   // server, its answer
	keyDrain   = "limosa-drain"   // server: no more calls, please
	keyCancel  = "limosa-cancel"  // client: the call with the frame's sequence id is given up
	keyPing    = "limosa-ping"    // client: are you there; server: yes
	keyTotal   = "limosa-total"   // first piece of a message: bytes of all pieces, decimal
	keyCredit  = "limosa-credit"  // stream: bytes of messages that may follow, decimal
	keyTimeout = "limosa-timeout" // request: the rest of the deadline, in microseconds
	keyCode    = "limosa-code"    // answer: rpc.Code, decimal
	keyRefused = "limosa-refused" // answer: the call was not started

	drainSoon = "1"    // a drain's value: calls on their way are still answered
	drainLast = "last" // a drain's value: what was not answered was not started, and nothing follows

	prefixOwn    = "limosa-"
	prefixDetail = "limosa-detail-" // answer: a pair of the error's details
)

// ownKeys are what Kitex itself puts among the strings; they are no metadata. Besides
// those above: rip is the peer's address, tc and ti are cluster and data centre that were
// meant, the five with p times of its tracing (pkg/remote/transmeta there), and ttscp
// the path of services that were cancelled.
var ownKeys = [...]string{
	keyService, keyReset, keyChecksum, keyBizStatus, keyBizMessage, keyBizExtra,
	"rip", "tc", "ti", "pcs", "pce", "pss", "prs", "pre", "ttscp",
}

// internal reports whether a bare key belongs to Kitex or to a protocol, so
// that it is neither shown to a user nor taken from one.
func internal(key string) bool {
	for _, k := range ownKeys {
		if k == key {
			return true
		}
	}
	return strings.HasPrefix(key, "PV_") || rpc.Reserved(key)
}
