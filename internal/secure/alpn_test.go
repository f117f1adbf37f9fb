package secure_test

import (
	"crypto/tls"
	"errors"
	"slices"
	"testing"

	"github.com/limosa-rpc/limosa/internal/secure"
)

// hello is what a client says that asks for protocols by these names.
func hello(names ...string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{SupportedProtos: names}
}

// chosen is what a server's configuration has for a client.
func chosen(t *testing.T, cfg *tls.Config, names ...string) []string {
	t.Helper()
	if cfg.GetConfigForClient == nil {
		return cfg.NextProtos
	}
	c, err := cfg.GetConfigForClient(hello(names...))
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		c = cfg
	}
	return c.NextProtos
}

// Who asks for HTTP/2 by name gets it; for all others nothing is different.
func TestOffer(t *testing.T) {
	if secure.Offer(nil, "h2") != nil || secure.Ask(nil, "h2") != nil {
		t.Error("no configuration has become one")
	}
	own := &tls.Config{NextProtos: []string{"mine"}}
	named := &tls.Config{NextProtos: []string{"h2"}}
	if secure.Offer(named, "h2") != named {
		t.Error("a configuration that has the name was changed")
	}
	for name, x := range map[string]struct {
		cfg  *tls.Config
		asks []string
		want []string
	}{
		"plain, nothing asked":   {&tls.Config{}, nil, nil},
		"plain, another asked":   {&tls.Config{}, []string{"other"}, nil},
		"plain, HTTP/2 asked":    {&tls.Config{}, []string{"other", "h2"}, []string{"h2"}},
		"own, nothing asked":     {own, nil, []string{"mine"}},
		"own, HTTP/2 asked":      {own, []string{"h2"}, []string{"mine", "h2"}},
		"chosen, nothing asked":  {choosing(own, nil), nil, []string{"mine"}},
		"chosen, HTTP/2 asked":   {choosing(own, nil), []string{"h2"}, []string{"mine", "h2"}},
		"none chosen, asked":     {choosing(nil, nil), []string{"h2"}, []string{"h2"}},
		"none chosen, not asked": {choosing(nil, nil), nil, nil},
	} {
		if got := chosen(t, secure.Offer(x.cfg, "h2"), x.asks...); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
	if !slices.Equal(own.NextProtos, []string{"mine"}) {
		t.Errorf("the user's configuration is %v now", own.NextProtos)
	}
	no := errors.New("nobody")
	if _, err := secure.Offer(choosing(own, no), "h2").GetConfigForClient(hello("h2")); !errors.Is(err, no) {
		t.Errorf("the user's error is %v", err)
	}
}

// choosing is a configuration that chooses another one, or fails.
func choosing(cfg *tls.Config, err error) *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return cfg, err }}
}

// A client asks by name, besides the names that its user has.
func TestAsk(t *testing.T) {
	for _, x := range []struct{ had, want []string }{
		{nil, []string{"h2"}}, {[]string{"h2"}, []string{"h2"}}, {[]string{"mine"}, []string{"mine", "h2"}},
	} {
		cfg := &tls.Config{NextProtos: x.had}
		if got := secure.Ask(cfg, "h2").NextProtos; !slices.Equal(got, x.want) || !slices.Equal(cfg.NextProtos, x.had) {
			t.Errorf("%v asks for %v, want %v", cfg.NextProtos, got, x.want)
		}
	}
}

// A client may be asked for a certificate if its server says so, or leaves it to a function.
func TestAsks(t *testing.T) {
	for _, x := range []struct {
		cfg  *tls.Config
		asks bool
	}{
		{nil, false}, {&tls.Config{}, false}, {&tls.Config{ClientAuth: tls.RequestClientCert}, true}, {choosing(nil, nil), true},
	} {
		if got := secure.Asks(x.cfg); got != x.asks {
			t.Errorf("%v: %v", x.cfg, got)
		}
	}
}
