package secure

import (
	"crypto/tls"
	"slices"
)

// Offer gives a TLS configuration that takes the name of a protocol from whoever asks for
// it, as clients of gRPC ask for h2; all others are served as by cfg, which is left as it
// is. nil gives nil.
func Offer(cfg *tls.Config, name string) *tls.Config {
	if cfg == nil || slices.Contains(cfg.NextProtos, name) {
		return cfg
	}
	named, choose := withName(cfg, name), cfg.GetConfigForClient
	named.GetConfigForClient = nil
	cfg = cfg.Clone()
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		asks := slices.Contains(hello.SupportedProtos, name)
		if choose != nil {
			if chosen, err := choose(hello); err != nil || chosen != nil {
				if asks && err == nil {
					chosen = withName(chosen, name)
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

// Ask gives a client's TLS configuration that asks for a protocol by name. nil gives nil.
func Ask(cfg *tls.Config, name string) *tls.Config {
	if cfg == nil {
		return nil
	}
	return withName(cfg, name)
}

// withName is a copy of cfg that has the name besides its own.
func withName(cfg *tls.Config, name string) *tls.Config {
	cfg = cfg.Clone()
	if !slices.Contains(cfg.NextProtos, name) {
		cfg.NextProtos = append(slices.Clip(cfg.NextProtos), name)
	}
	return cfg
}

// Asks reports whether a server with cfg may ask a client for a certificate: what its user
// chooses for each client may do so too.
func Asks(cfg *tls.Config) bool {
	return cfg != nil && (cfg.ClientAuth != tls.NoClientCert || cfg.GetConfigForClient != nil)
}
