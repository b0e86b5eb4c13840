// Package oidc lets people log in at an OpenID provider: the authorization code flow with PKCE. It tells
// whom the provider knows under a name; what that person may do is not its business.
//
// The server keeps nothing of a login that is under way, and needs no cookie. The page keeps a random
// verifier. Its hash, the challenge, goes to the provider, and into the state, which the server signs. So a
// code is of use only to the page that began the login, and only for some minutes.
//
// The package is slow: it waits for the provider, for at most timeout, callsMax logins at once. It asks
// nothing before the first login, so a provider that is away does not keep a server from starting.
package oidc

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	timeout    = 5 * time.Second // of Begin or Finish, with all their calls to the provider
	callsMax   = 16              // logins that wait for the provider at once
	answerMax  = 1 << 20         // bytes of an answer of the provider
	retryPace  = 5 * time.Second // between two questions to a provider that is away
	loginMax   = 10 * time.Minute
	keyPurpose = "flashsale oidc states"
)

// Outcomes. They wrap what has gone wrong, for the log.
var (
	ErrAway         = errors.New("the OpenID provider cannot be reached")
	ErrRefused      = errors.New("the login at the OpenID provider is not valid")
	ErrBusy         = errors.New("too many logins wait for the OpenID provider")
	ErrBadChallenge = errors.New("the challenge is not a SHA-256 in base64url")
)

// Config is what the room needs.
type Config struct {
	Issuer   string // URL of the provider
	ClientID string
	Secret   string // of the client
	Return   string // URL of the page, as the provider knows it
	Claim    string // the one with the person's name; Email counts only where the provider has verified it

	StateSecret []byte           // signs states, the same on all servers
	Now         func() time.Time // nil: time.Now
}

// Email is the claim with an address.
const Email = "email"

// OIDC is the room in one process. Its methods are safe for concurrent use.
type OIDC struct {
	cfg    Config
	key    []byte // of states
	client *http.Client
	places chan struct{}

	mu     sync.Mutex // held while the provider is asked for its description
	known  *provider  // nil until it has answered once
	asked  time.Time  // when it did not answer
	reason error      // and why
}

// New makes the room. It does not ask the provider.
func New(cfg Config) (*OIDC, error) {
	key, err := hkdf.Key(sha256.New, cfg.StateSecret, nil, keyPurpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("cannot make the key of states: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &OIDC{cfg: cfg, key: key, client: newClient(), places: make(chan struct{}, callsMax)}, nil
}

// Begin returns where the browser goes to log in. The challenge is the SHA-256 of the verifier in base64url.
// Errors: ErrBadChallenge, ErrAway, ErrBusy.
func (o *OIDC) Begin(challenge string) (address string, err error) {
	state, err := o.newState(challenge)
	if err != nil {
		return "", err
	}
	err = o.withProvider(func(_ context.Context, p *provider) error {
		address = p.oauth.AuthCodeURL(state, append(p.options, oidc.Nonce(o.nonce(state)),
			oauth2.SetAuthURLParam("code_challenge", challenge),
			oauth2.SetAuthURLParam("code_challenge_method", "S256"))...)
		return nil
	})
	return address, err
}

// Finish returns the name of the person who comes back with this code and state, and shows the verifier.
// Errors: ErrRefused, ErrAway, ErrBusy.
func (o *OIDC) Finish(code, state, verifier string) (name string, err error) {
	if err := o.checkState(state, verifier); err != nil {
		return "", err
	}
	err = o.withProvider(func(ctx context.Context, p *provider) error {
		answer, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(verifier))
		if err != nil {
			return exchangeError(err)
		}
		text, _ := answer.Extra("id_token").(string)
		token, err := p.tokens.Verify(ctx, text)
		switch unreached := (*url.Error)(nil); {
		case errors.As(err, &unreached) || ctx.Err() != nil: // no keys
			return because(ErrAway, err)
		case err != nil:
			return because(ErrRefused, err)
		case !hmac.Equal([]byte(token.Nonce), []byte(o.nonce(state))):
			return fmt.Errorf("%w: the token has another nonce", ErrRefused)
		}
		name, err = o.nameIn(token)
		return err
	})
	return name, err
}

// exchangeError tells a code that the provider refuses from a provider that is away.
func exchangeError(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.Response.StatusCode/100 == 4 {
		return fmt.Errorf("%w: the provider answers %d %.48q", ErrRefused, answer.Response.StatusCode,
			answer.ErrorCode)
	}
	return because(ErrAway, err)
}

// because adds a reason, which may hold a whole answer of the provider, to an outcome.
func because(outcome, reason error) error { return fmt.Errorf("%w: %.200s", outcome, reason) }

// nameIn is the name of the person whom a token is about.
func (o *OIDC) nameIn(token *oidc.IDToken) (string, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return "", because(ErrRefused, err)
	}
	name, _ := claims[o.cfg.Claim].(string)
	verified := claims["email_verified"] // some providers send a text
	switch {
	case name == "":
		return "", fmt.Errorf("%w: the token has no text %q", ErrRefused, o.cfg.Claim)
	case o.cfg.Claim == Email && verified != true && verified != "true":
		return "", fmt.Errorf("%w: the address is not verified", ErrRefused)
	}
	return name, nil
}
