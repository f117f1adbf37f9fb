// Package http2 holds Limosa's HTTP/2 against the framer of x/net: what one refuses
// the other refuses, what both accept they read alike. It has tests only.
package http2
