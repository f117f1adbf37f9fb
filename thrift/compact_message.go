package thrift

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

const (
	compactProtocol = 0x82 // the first byte of a message
	compactVersion  = 1    // in the lower five bits of the second one
)

// AppendMessageBegin appends the envelope of a message, as the function
// AppendMessageBegin does.
func (Compact) AppendMessageBegin(b []byte, name string, typ MessageType, seq int32) []byte {
	b = append(b, compactProtocol, compactVersion|byte(typ)<<5)
	b = binary.AppendUvarint(b, uint64(uint32(seq)))
	b = binary.AppendUvarint(b, uint64(len(name)))
	return append(b, name...)
}

// ParseMessageBegin reads the envelope at the begin of p, as the function
// ParseMessageBegin does.
func (Compact) ParseMessageBegin(p []byte) (name []byte, typ MessageType, seq int32, n int, err error) {
	if len(p) > 0 && p[0] != compactProtocol {
		return nil, 0, 0, 0, &SyntaxError{Why: "not a compact message"}
	}
	if len(p) < 2 {
		return nil, 0, 0, 4, ErrShort
	}
	if v := p[1] & 31; v != compactVersion {
		return nil, 0, 0, 0, &SyntaxError{Offset: 1, Why: "unknown version " + strconv.Itoa(int(v))}
	}
	if typ = MessageType(p[1] >> 5); typ < Call || typ > Oneway {
		return nil, 0, 0, 0, &SyntaxError{Offset: 1, Why: typ.String() + " is unknown"}
	}
	v, o, f := uvarint(p, 2)
	if f == fine {
		seq = int32(uint32(v))
		var size, at int
		at = o
		if size, o, f = compactSize(p, at); f == fine {
			if size > MaxName {
				return nil, 0, 0, 0, &SyntaxError{Offset: at, Why: fmt.Sprintf("method name of %d bytes", size)}
			}
			if n = o + size; len(p) < n {
				return nil, 0, 0, n, ErrShort
			}
			return p[o:n:n], typ, seq, n, nil
		}
	}
	if f == short {
		return nil, 0, 0, o, ErrShort
	}
	return nil, 0, 0, 0, f.at(o)
}

// AppendException appends the struct of an application exception, as the
// function AppendException does.
func (Compact) AppendException(b []byte, text string, typ ExceptionType) []byte {
	b = binary.AppendUvarint(append(b, 1<<4|byte(compactString)), uint64(len(text)))
	b = append(append(b, text...), 1<<4|byte(compactI32))
	return append(binary.AppendUvarint(b, zigzag(int64(typ))), byte(compactStop))
}

// ParseException reads the struct of an application exception at the begin of
// p, as the function ParseException does.
func (Compact) ParseException(p []byte) (text string, typ ExceptionType, n int, err error) {
	const maxDepth = 64 // of fields that are not ours
	var h compactHead
	for o := 0; ; {
		from, f := h.read(p, o)
		if f == fine {
			if h.kind == compactStop {
				return text, typ, from, nil
			}
			o, f = skipCompactField(p, from, h.kind, maxDepth)
		} else {
			o = from
		}
		switch f {
		case fine:
		case short:
			return "", 0, 0, ErrShort
		default:
			return "", 0, 0, f.at(o)
		}
		switch {
		case h.id == 1 && h.kind == compactString:
			_, at, _ := compactSize(p, from)
			text = string(p[at:o])
		case h.id == 2 && h.kind == compactI32:
			v, _, _ := uvarint(p, from)
			typ = ExceptionType(unzigzag(uint64(uint32(v))))
		}
	}
}
