// Package pb is the messages of package prototest as the official generator makes them.
package pb
