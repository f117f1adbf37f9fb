// Package connect has clients of connect-go call Limosa.
package connect
