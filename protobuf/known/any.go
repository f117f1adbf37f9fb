package known

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/protobuf"
)

// A Message is a generated message, which knows its name.
type Message interface {
	// ProtoName gives the full name in the IDL: google.protobuf.Timestamp.
	ProtoName() string
}

// urlPrefix stands before the name in an Any's URL. Whoever reads one looks at what is
// behind the last slash only.
const urlPrefix = "type.googleapis.com/"

// AnyOf encodes m into an Any. Errors are those of protobuf.Marshal.
func AnyOf(m Message) (*Any, error) {
	raw, err := protobuf.Marshal(m)
	if err != nil {
		return nil, err
	}
	return &Any{TypeURL: urlPrefix + m.ProtoName(), Value: raw}, nil
}

// Is tells whether x holds a message of m's type. m may be nil of that type.
func (x *Any) Is(m Message) bool {
	if x == nil {
		return false
	}
	return x.TypeURL[strings.LastIndexByte(x.TypeURL, '/')+1:] == m.ProtoName()
}

// To decodes what x holds into m, which has to be of that type.
func (x *Any) To(m Message) error {
	if !x.Is(m) {
		return fmt.Errorf("known: an Any of %q is no %s", x.name(), m.ProtoName())
	}
	return protobuf.Unmarshal(x.Value, m)
}

// name is the URL of what may be nil.
func (x *Any) name() string {
	if x == nil {
		return ""
	}
	return x.TypeURL
}
