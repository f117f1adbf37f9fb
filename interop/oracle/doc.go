// Package oracle holds Limosa's codecs against other implementations of the
// same format, byte by byte and in both directions, and what is generated, what
// is planned at run time and what comes from an IDL against each other. It has
// tests only.
package oracle
