package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"flashsale/tokens"
)

// TokenTTLMax is the longest time that an access token may be valid.
const TokenTTLMax = 10 * 365 * 24 * time.Hour

type tokenFlags struct {
	TokenSecret         string // "" for the secret in the data folder
	TokenSecretPrevious string
	TokenTTL            time.Duration
	ServiceToken        string // lets other programs use the rooms; "" is off
}

func (c *tokenFlags) add(f *Flags) {
	f.Group("Tokens")
	f.Secret(&c.TokenSecret, "token-secret", "", fmt.Sprintf("signs tokens and carts, at least %d `bytes`, "+
		"the same on all servers; better set in the environment (default: made once, kept in the data folder)",
		tokens.SecretMin))
	f.Secret(&c.TokenSecretPrevious, "token-secret-previous", "",
		"the secret before, which is still accepted; `bytes` as above")
	f.Check(func() error { return checkSecret("token-secret", c.TokenSecret) })
	f.Check(func() error { return checkSecret("token-secret-previous", c.TokenSecretPrevious) })
	f.Time(&c.TokenTTL, "token-ttl", 24*time.Hour, time.Second, TokenTTLMax,
		"`time` an access token is valid")
	f.Secret(&c.ServiceToken, "service-token", "", fmt.Sprintf("lets other programs in "+
		"(Authorization: Bearer ...), at least %d `bytes`; better set in the environment "+
		"(default: no program is let in)", tokens.SecretMin))
	f.Check(func() error { return checkSecret("service-token", c.ServiceToken) })
	f.Check(func() error {
		if strings.ContainsFunc(c.ServiceToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("-service-token (SERVICE_TOKEN) must be visible ASCII characters: " +
				"it is sent in a header")
		}
		return nil
	})
}

func checkSecret(name, secret string) error {
	if n := len(secret); n > 0 && n < tokens.SecretMin {
		return fmt.Errorf("-%s (%s) has %d bytes; it must have at least %d", name, envName(name), n,
			tokens.SecretMin)
	}
	return nil
}
