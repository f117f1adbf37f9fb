package web

import (
	"crypto/tls"
	"slices"
)

// Offer gives a TLS configuration that takes the name of HTTP/2 from whoever asks for it,
// as clients of gRPC do; all others are served as by cfg, which is left as it is. nil gives
// nil.
func Offer(cfg *tls.Config) *tls.Config {
	if cfg == nil || slices.Contains(cfg.NextProtos, ALPN) {
		return cfg
	}
	named, choose := withName(cfg), cfg.GetConfigForClient
	named.GetConfigForClient = nil
	cfg = cfg.Clone()
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		asks := slices.Contains(hello.SupportedProtos, ALPN)
		if choose != nil {
			if chosen, err := choose(hello); err != nil || chosen != nil {
				if asks && err == nil {
					chosen = withName(chosen)
				}
				return chosen, err
			}
		}
		if !asks {
			return nil, nil
		}
		return named, nil
	}
	return cfg
}

// Ask gives a client's TLS configuration that asks for HTTP/2 by name. nil gives nil.
func Ask(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		return nil
	}
	return withName(cfg)
}

// withName is a copy of cfg that has the name of HTTP/2 besides its own.
func withName(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	if !slices.Contains(cfg.NextProtos, ALPN) {
		cfg.NextProtos = append(slices.Clip(cfg.NextProtos), ALPN)
	}
	return cfg
}
