//go:build !linux

package main

// pinTo is for Linux.
func pinTo(int) {}
