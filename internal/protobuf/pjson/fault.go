package pjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A step is a field's name, an index or a map's key on the way to a value.
type step struct {
	name  string
	index int
	kind  stepKind
}

// A stepKind is how a step is shown: .name, [3] or ["key"].
type stepKind uint8

const (
	byName stepKind = iota
	byIndex
	byKey
)

// pathText shows the way to a value: items[3].name.
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch s.kind {
		case byKey:
			// A key is the sender's, and may be as long as the message.
			fmt.Fprintf(&b, "[%.40q]", s.name)
		case byIndex:
			fmt.Fprintf(&b, "[%d]", s.index)
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// mostKnown is how many names an error tells.
const mostKnown = 20

// noField says that a message has no field of that name, and which it has.
func noField(pl *plan.Plan, name string) string {
	return fmt.Sprintf("%s has no field %.40q; %s", pl.Title, name, knownAre(pl.FieldNames()))
}

// noValue says that an enum has no such value. Of one with a Go type the names are not known.
func noValue(t *shape.Type, tok json.Token) string {
	if t.Enum == nil {
		return "no value of " + t.Go.String() + ": " + tok.String()
	}
	// In the order of their numbers, as in the file; names of one number by the alphabet.
	names := make([]string, 0, len(t.Enum.Numbers))
	for name := range t.Enum.Numbers {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		// Of 64 bits, since the difference of two numbers of 32 may not fit into 32.
		if d := int64(t.Enum.Numbers[a]) - int64(t.Enum.Numbers[b]); d != 0 {
			return int(max(-1, min(1, d)))
		}
		return strings.Compare(a, b)
	})
	what := tok.String()
	if tok.Kind == '"' {
		what = fmt.Sprintf("%.40q", tok.Text)
	}
	return "the enum " + t.Enum.Title + " has no value " + what + "; " + knownAre(names)
}

// knownAre lists the first names for an error.
func knownAre(names []string) string {
	if len(names) == 0 {
		return "there is none"
	}
	text := "known are " + strings.Join(names[:min(mostKnown, len(names))], ", ")
	if n := len(names) - mostKnown; n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	return text
}

// typeName is what Protobuf calls the type of a scalar: who reads the error has written JSON, not Go.
func typeName(t *shape.Type) string {
	switch t.Kind {
	case shape.Bytes:
		return "bytes"
	case shape.Float32:
		return "float"
	case shape.Float64:
		return "double"
	}
	return t.Go.String()
}
