package dynamic

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/protobuf"
)

// A Message is one of a type that was made by New. [Types.New] makes it; the zero value is of no type, and an
// error for all who are given it. It may be read concurrently.
type Message struct {
	// Set by Types.New, then constant.
	types *Types
	name  string
	held  shape.Held
}

// Name gives the full name of its type: shop.Order.
func (m *Message) Name() string { return m.name }

// Made implements shape.Made; it is what the codecs ask for.
func (m *Message) Made() shape.Held { return m.held }

// CloneMade is what protobuf.Clone asks for.
func (m *Message) CloneMade() any {
	c := *m
	if m.types != nil {
		c.held = m.held.Clone()
	}
	return &c
}

// Unknown gives the fields that its type does not have, as they were on the wire, extensions among them. They are
// borrowed, until the message is decoded into or encoded from JSON.
func (m *Message) Unknown() []byte {
	if m.types == nil {
		return nil
	}
	return *m.held.Struct.Kept(m.held.At)
}

// String gives the message for logs, as protobuf.String does.
func (m *Message) String() string { return protobuf.String(m) }

// MarshalJSON encodes it by Types.JSON.
func (m *Message) MarshalJSON() ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	if err := m.json().Append(&out, m); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// UnmarshalJSON replaces what it holds by what text says, by Types.JSON. It borrows text.
func (m *Message) UnmarshalJSON(text []byte) error {
	return m.json().Decode(buf.ViewOf(text), m, nil)
}

// json is the codec of its Types.
func (m *Message) json() protobuf.JSON {
	if m.types == nil {
		return protobuf.JSON{}
	}
	return m.types.JSON()
}
