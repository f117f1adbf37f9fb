package shape

import "encoding/hex"

// UUIDText gives the form 00112233-4455-6677-8899-aabbccddeeff.
func UUIDText(u [16]byte) string {
	b := make([]byte, 0, 36)
	b = append(hex.AppendEncode(b, u[:4]), '-')
	b = append(hex.AppendEncode(b, u[4:6]), '-')
	b = append(hex.AppendEncode(b, u[6:8]), '-')
	b = append(hex.AppendEncode(b, u[8:10]), '-')
	return string(hex.AppendEncode(b, u[10:]))
}

// ParseUUID reads what UUIDText gives; upper case is taken too.
//
// Nothing else is taken: no braces, no urn:uuid:, no form without hyphens. What is taken
// is written in one way again.
func ParseUUID(s string) (u [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, false
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return [16]byte{}, false
	}
	return u, true
}
