// Package http1 holds Limosa's HTTP/1 against llhttp, which is Node's parser, and h11:
// what one refuses Limosa refuses, what all take they read alike. It has tests only.
package http1
