package config

import (
	"errors"
	"strings"
	"testing"
)

// A provider needs its secret and a list of operators, but a worker, which takes both from the handover,
// reads the flags without them.
func TestOIDCSecret(t *testing.T) {
	clearEnvironment(t)
	const provider = "-oidc-issuer https://x/y -oidc-client c -oidc-return https://z "
	for args, want := range map[string]error{"": nil, provider: errOIDC, provider + "-operators o": errOIDC,
		provider + "-oidc-secret s": errOIDC, provider + "-oidc-secret s -operators o": nil} {
		c := parse(t, strings.Fields(args)...)
		secret, err := c.OIDCSecret()
		if !errors.Is(err, want) || (secret == "s") != (args != "" && want == nil) {
			t.Errorf("%s: %q, %v, want %v", args, secret, err, want)
		}
		if name := c.OIDCProvider(); (name == "x") != (args != "") {
			t.Errorf("%s: the provider is called %q", args, name)
		}
	}
}
