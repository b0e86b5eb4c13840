package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

type oidcFlags struct {
	OIDCIssuer string // "": operators log in with passwords only
	OIDCClient string
	OIDCClaim  string
	OIDCReturn string

	oidcSecret string
}

func (c *oidcFlags) add(f *Flags) {
	f.Group("Login of operators at an OpenID provider (off, unless -oidc-issuer is set)")
	f.Text(&c.OIDCIssuer, "oidc-issuer", "", "`URL` of the provider, as "+
		"https://login.shop.example/realms/staff")
	f.Text(&c.OIDCClient, "oidc-client", "", "`id` of this server there")
	f.Secret(&c.oidcSecret, "oidc-secret", "", "`secret` of this server there; better set in the environment")
	f.Text(&c.OIDCClaim, "oidc-claim", "preferred_username", "`claim` with the name of the operator; email "+
		"counts only if the provider has verified it")
	f.Text(&c.OIDCReturn, "oidc-return", "", "`URL` of this server's page, as https://sale.shop.example/, "+
		"which the provider sends browsers back to")
	f.needs([]string{"oidc-issuer"}, "oidc-client", "oidc-secret", "oidc-claim", "oidc-return")
	f.Check(func() error {
		switch {
		case c.OIDCIssuer == "":
			return nil
		case c.OIDCClient == "" || c.OIDCReturn == "":
			return errOIDC
		}
		if err := checkSafeURL(f, "oidc-issuer", c.OIDCIssuer); err != nil {
			return err
		}
		return checkSafeURL(f, "oidc-return", c.OIDCReturn)
	})
}

var errOIDC = errors.New("-oidc-issuer (OIDC_ISSUER) needs -operators, -oidc-client, -oidc-secret and " +
	"-oidc-return; set all, or none")

// OIDCSecret returns the secret of the client, "" without a provider. Only the supervisor calls it: workers
// get the secret in the handover.
func (c *Config) OIDCSecret() (string, error) {
	if c.OIDCIssuer != "" && (c.oidcSecret == "" || c.Operators == "") {
		return "", errOIDC
	}
	return c.oidcSecret, nil
}

// OIDCProvider is how people know the provider: its host, "" without a provider.
func (c *oidcFlags) OIDCProvider() string {
	at, err := url.Parse(c.OIDCIssuer)
	if err != nil {
		return ""
	}
	return at.Hostname()
}

// checkSafeURL refuses the URL of a flag where others could listen: plain HTTP that leaves this machine.
func checkSafeURL(f *Flags, name, text string) error {
	at, err := url.Parse(text)
	if err == nil && at.Hostname() != "" && at.User == nil && at.RawQuery == "" && at.Fragment == "" {
		here := at.Hostname() == "localhost" || isLoopback(net.JoinHostPort(at.Hostname(), "80"))
		if at.Scheme == "https" || at.Scheme == "http" && here {
			return nil
		}
	}
	return fmt.Errorf("%s is %q; it must be a URL with https, or with http on localhost", f.source(name), text)
}
