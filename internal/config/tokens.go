package config

import (
	"fmt"
	"time"

	"flashsale/tokens"
)

type tokenFlags struct {
	TokenSecret         string // "" means the one in the data folder
	TokenSecretPrevious string
	TokenTTL            time.Duration
}

func (c *tokenFlags) add(f *Flags) {
	f.Group("Tokens")
	f.Secret(&c.TokenSecret, "token-secret", "", fmt.Sprintf("signs tokens and carts, at least %d `bytes`, "+
		"the same on all servers; better set in the environment (default: made once, kept in the data folder)",
		tokens.SecretMin))
	f.Secret(&c.TokenSecretPrevious, "token-secret-previous", "",
		"the secret before, which still verifies; `bytes` as above")
	f.Check(func() error { return checkSecret("token-secret", c.TokenSecret) })
	f.Check(func() error { return checkSecret("token-secret-previous", c.TokenSecretPrevious) })
	f.Time(&c.TokenTTL, "token-ttl", 24*time.Hour, time.Second, 10*365*24*time.Hour,
		"`time` an access token is valid")
}

func checkSecret(name, secret string) error {
	if n := len(secret); n > 0 && n < tokens.SecretMin {
		return fmt.Errorf("-%s (%s) has %d bytes; it must have at least %d", name, envName(name), n,
			tokens.SecretMin)
	}
	return nil
}
