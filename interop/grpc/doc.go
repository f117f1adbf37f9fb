// Package grpc has Limosa and grpc-go call each other.
package grpc
