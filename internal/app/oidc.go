package app

import (
	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/rooms/oidc"
)

var oidcRoom = room{
	name: "oidc",
	read: func(cfg *config.Config) (any, error) {
		secret, err := cfg.OIDCSecret()
		return clientSecret{secret}, err
	},
	serve: (*worker).serveOIDC,
}

// clientSecret is what a worker does not read from its flags: it may be from the environment.
type clientSecret struct{ Secret string }

func (w *worker) serveOIDC() (part, error) {
	var client clientSecret
	if err := w.take("oidc", &client); err != nil || w.cfg.OIDCIssuer == "" {
		return part{}, err
	}
	provider, err := oidc.New(oidc.Config{Issuer: w.cfg.OIDCIssuer, ClientID: w.cfg.OIDCClient,
		Secret: client.Secret, Return: w.cfg.OIDCReturn, Claim: w.cfg.OIDCClaim, StateSecret: w.Secrets[0]})
	if err != nil {
		return part{}, err
	}
	return part{routes: handlers.OIDC(provider)}, nil
}
