package oidc

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// provider is the provider as it describes itself.
type provider struct {
	oauth   oauth2.Config
	tokens  *oidc.IDTokenVerifier
	options []oauth2.AuthCodeOption // of each login
}

// withProvider does something that may ask the provider.
func (o *OIDC) withProvider(do func(context.Context, *provider) error) error {
	select {
	case o.places <- struct{}{}:
		defer func() { <-o.places }()
	default:
		return ErrBusy
	}
	ctx, stop := context.WithTimeout(oidc.ClientContext(context.Background(), o.client), timeout)
	defer stop()
	p, err := o.provider(ctx)
	if err != nil {
		return err
	}
	return do(ctx, p)
}

// provider returns the provider. Until it has answered once, one login at a time asks for its description,
// and no other soon after one that has failed.
func (o *OIDC) provider(ctx context.Context) (*provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known != nil {
		return o.known, nil
	}
	if o.reason == nil || o.cfg.Now().Sub(o.asked) >= retryPace {
		o.known, o.reason = o.discover(ctx)
		o.asked = o.cfg.Now()
	}
	return o.known, o.reason
}

// discover asks the provider for its description.
func (o *OIDC) discover(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(ctx, o.cfg.Issuer)
	if err != nil {
		return nil, because(ErrAway, err)
	}
	var told struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Modes   []string `json:"response_modes_supported"`
	}
	if err := found.Claims(&told); err != nil {
		return nil, because(ErrAway, err)
	}
	p := &provider{tokens: found.Verifier(&oidc.Config{ClientID: o.cfg.ClientID, Now: o.cfg.Now}),
		oauth: oauth2.Config{ClientID: o.cfg.ClientID, ClientSecret: o.cfg.Secret, Endpoint: found.Endpoint(),
			RedirectURL: o.cfg.Return, Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}}
	// Without a style the library tries both, so each refused code would be sent twice.
	p.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(told.Methods) > 0 && !slices.Contains(told.Methods, "client_secret_basic") {
		p.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	// No server and no proxy sees a fragment; a code in a query may also be longer than a URL may be here.
	if len(told.Modes) == 0 || slices.Contains(told.Modes, "fragment") {
		p.options = []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("response_mode", "fragment")}
	}
	p.options = slices.Clip(p.options) // logins append to it at the same time
	return p, nil
}

func newClient() *http.Client {
	return &http.Client{Timeout: timeout, Transport: bounded{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// bounded cuts answers off that are too long.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		reply.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(reply.Body, answerMax), reply.Body}
	}
	return reply, err
}
