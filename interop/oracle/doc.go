// Package oracle holds Limosa's codecs against other implementations of the
// same format, byte by byte and in both directions. It has tests only.
package oracle
