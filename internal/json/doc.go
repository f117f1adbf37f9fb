// Package json reads and writes JSON text for codecs that know what the text is to be: a
// scanner that gives tokens and stores nothing, and the forms of strings and numbers. It
// makes no values; encoding/json does that.
package json
