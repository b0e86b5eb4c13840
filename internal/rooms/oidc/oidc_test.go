package oidc

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/idp"
)

const (
	description = "/.well-known/openid-configuration"
	username    = "preferred_username"
	page        = "https://shop.example/"
	verifier    = "a-verifier-of-the-page-with-43-characters-or-more"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// newRoom makes a room of a provider; change may set more.
func newRoom(t *testing.T, p *idp.Provider, change func(*Config)) *OIDC {
	t.Helper()
	cfg := Config{Issuer: p.URL, ClientID: idp.ClientID, Secret: idp.Secret, Return: page, Claim: username,
		StateSecret: []byte(strings.Repeat("s", 32))}
	if change != nil {
		change(&cfg)
	}
	o, err := New(cfg)
	testkit.Must(t, err)
	return o
}

// browse does what the browser does at the provider, and returns what it comes back with.
func browse(t *testing.T, address string) (code, state string) {
	t.Helper()
	back, told := idp.Visit(t, address)
	if !strings.HasPrefix(back.String(), page+"#") {
		t.Fatalf("the provider sends the browser to %s", back)
	}
	return told.Get("code"), told.Get("state")
}

func stateIn(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	testkit.Must(t, err)
	return u.Query().Get("state")
}

// logIn goes the whole way.
func (o *OIDC) logIn(t *testing.T) (name string, err error) {
	t.Helper()
	address, err := o.Begin(challengeOf(verifier))
	testkit.Must(t, err)
	code, state := browse(t, address)
	return o.Finish(code, state, verifier)
}

func TestLogIn(t *testing.T) {
	p := idp.Start(t)
	for claim, want := range map[string]string{username: "alice", Email: "alice@shop.example"} {
		o := newRoom(t, p, func(cfg *Config) { cfg.Claim = claim })
		for range 3 {
			if name, err := o.logIn(t); name != want || err != nil {
				t.Errorf("%s: %q, %v, want %q", claim, name, err, want)
			}
		}
	}
	for path, want := range map[string]int{description: 2, "/keys": 2, "/token": 6} {
		if n := p.Calls(path); n != want {
			t.Errorf("%s is asked for %d times in six logins of two processes, want %d", path, n, want)
		}
	}
}

// A provider may want the client's secret in the body, and know codes in a query only.
func TestOtherProviders(t *testing.T) {
	p := idp.Start(t)
	p.Break(idp.Fault{Tells: map[string]any{"response_modes_supported": []string{"query"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}})
	o := newRoom(t, p, nil)
	address, err := o.Begin(challengeOf(verifier))
	testkit.Must(t, err)
	if strings.Contains(address, "response_mode") {
		t.Errorf("the browser asks for a fragment: %s", address)
	}
	state := stateIn(t, address)
	if _, err := o.Finish("x", state, verifier); !errors.Is(err, ErrRefused) || p.Calls("/token") != 1 {
		t.Errorf("a wrong code: %v after %d calls, want one", err, p.Calls("/token"))
	}
	_, told := idp.Visit(t, address)
	if name, err := o.Finish(told.Get("code"), state, verifier); name != "alice" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
}

// What is wrong with a token refuses the login, and what is wrong with the provider is told as that.
func TestFaults(t *testing.T) {
	p := idp.Start(t)
	claims := func(name string, value any) idp.Fault { return idp.Fault{Claims: map[string]any{name: value}} }
	for what, tc := range map[string]struct {
		fault idp.Fault
		claim string
		want  error
		says  string
	}{
		"another key":        {idp.Fault{Signature: true}, username, ErrRefused, "failed to verify"},
		"an unknown key":     {idp.Fault{KeyID: "2"}, username, ErrRefused, "failed to verify"},
		"no signature":       {idp.Fault{Unsigned: true}, username, ErrRefused, "none"},
		"expired":            {claims("exp", time.Now().Add(-time.Hour).Unix()), username, ErrRefused, "expired"},
		"another client":     {claims("aud", "another"), username, ErrRefused, "audience"},
		"another issuer":     {claims("iss", "https://other.example"), username, ErrRefused, "different provider"},
		"another nonce":      {claims("nonce", "x"), username, ErrRefused, "nonce"},
		"no nonce":           {claims("nonce", ""), username, ErrRefused, "nonce"},
		"no name":            {claims(username, ""), username, ErrRefused, "has no text"},
		"a name of a number": {claims(username, 7), username, ErrRefused, "has no text"},
		"no address":         {claims("email", ""), Email, ErrRefused, "has no text"},
		"not verified":       {claims("email_verified", false), Email, ErrRefused, "not verified"},
		"verified, a text":   {claims("email_verified", "true"), Email, nil, ""},
		"another claim":      {claims("staff_name", "bob"), "staff_name", nil, ""},
		"a fault":            {idp.Fault{Status: 500}, username, ErrAway, "500"},
		"a refusal":          {idp.Fault{Status: 403}, username, ErrRefused, "403"},
		"a long answer":      {idp.Fault{Long: true}, username, ErrAway, "parse"},
	} {
		t.Run(what, func(t *testing.T) {
			p.Break(idp.Fault{})
			o := newRoom(t, p, func(cfg *Config) { cfg.Claim = tc.claim })
			address, err := o.Begin(challengeOf(verifier))
			testkit.Must(t, err)
			code, state := browse(t, address)
			p.Break(tc.fault)
			name, err := o.Finish(code, state, verifier)
			if !errors.Is(err, tc.want) || (err == nil) != (name != "") ||
				err != nil && (!strings.Contains(err.Error(), tc.says) || len(err.Error()) > 300) {
				t.Errorf("%q, %v", name, err)
			}
		})
	}
}

// Only the page that has begun a login ends it, soon, and once.
func TestStates(t *testing.T) {
	p := idp.Start(t)
	now := time.Now()
	o := newRoom(t, p, func(cfg *Config) { cfg.Now = func() time.Time { return now } })
	address, err := o.Begin(challengeOf(verifier))
	testkit.Must(t, err)
	code, state := browse(t, address)
	other := newRoom(t, p, func(cfg *Config) { cfg.StateSecret = []byte(strings.Repeat("t", 32)) })
	address, err = other.Begin(challengeOf(verifier))
	testkit.Must(t, err)
	foreign := stateIn(t, address)
	refused := func(what, code, state, verifier string) {
		t.Helper()
		if name, err := o.Finish(code, state, verifier); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", what, name, err)
		}
	}
	refused("another page", code, state, verifier+"x")
	refused("no verifier", code, state, "")
	refused("a state of another secret", code, foreign, verifier)
	refused("no state", code, "", verifier)
	refused("a changed state", code, "A"+state[1:], verifier)
	refused("a longer state", code, state+"AAAA", verifier)
	now = now.Add(loginMax)
	refused("too late", code, state, verifier)
	if n := p.Calls("/token"); n != 0 {
		t.Errorf("the provider is asked %d times about them", n)
	}
	now = now.Add(-time.Second)
	p.Break(idp.Fault{Claims: map[string]any{"exp": now.Add(time.Minute).Unix()}})
	refused("another code", "x", state, verifier)
	if name, err := o.Finish(code, state, verifier); name != "alice" || err != nil {
		t.Errorf("in time: %q, %v", name, err)
	}
	refused("again", code, state, verifier)
	for _, challenge := range []string{"", "x", challengeOf(verifier) + "A", strings.Repeat("=", 43)} {
		if _, err := o.Begin(challenge); !errors.Is(err, ErrBadChallenge) {
			t.Errorf("challenge %q: %v", challenge, err)
		}
	}
}

// A provider that is away, or is another one, is asked again some seconds later.
func TestProviderAway(t *testing.T) {
	p := idp.Start(t)
	now := time.Now()
	o := newRoom(t, p, func(cfg *Config) { cfg.Now = func() time.Time { return now } })
	for i, fault := range []idp.Fault{{Status: 503}, {Long: true}, {Tells: map[string]any{"issuer": "x"}},
		{Tells: map[string]any{"response_modes_supported": 7}}} {
		p.Break(fault)
		for range 3 {
			if _, err := o.Begin(challengeOf(verifier)); !errors.Is(err, ErrAway) || len(err.Error()) > 300 {
				t.Errorf("%+v: %v", fault, err)
			}
		}
		if n := p.Calls(description); n != i+1 {
			t.Errorf("%+v: the provider is asked %d times, want %d", fault, n, i+1)
		}
		now = now.Add(retryPace)
	}
	p.Break(idp.Fault{})
	_, err := o.Begin(challengeOf(verifier))
	testkit.Must(t, err)
}

// Few logins wait for a provider that does not answer, and one of them asks it.
func TestFewWait(t *testing.T) {
	p := idp.Start(t)
	o := newRoom(t, p, nil)
	answer := make(chan struct{})
	p.Break(idp.Fault{Hang: answer})
	results := make(chan error, callsMax)
	for range callsMax {
		go func() {
			_, err := o.Begin(challengeOf(verifier))
			results <- err
		}()
	}
	testkit.Until(t, "logins that wait", func() bool { return len(o.places) == callsMax })
	if _, err := o.Begin(challengeOf(verifier)); !errors.Is(err, ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	close(answer)
	for range callsMax {
		if err := <-results; err != nil && !errors.Is(err, ErrAway) { // a busy machine answers too late
			t.Error(err)
		}
	}
	if n := p.Calls(description); n != 1 {
		t.Errorf("the provider is asked %d times, want 1", n)
	}
}

// What the browser is sent to asks for what the flow needs.
func TestAddress(t *testing.T) {
	address, err := newRoom(t, idp.Start(t), nil).Begin(challengeOf(verifier))
	testkit.Must(t, err)
	u, err := url.Parse(address)
	testkit.Must(t, err)
	asked := u.Query()
	for name, want := range map[string]string{"response_type": "code", "client_id": idp.ClientID,
		"redirect_uri": page, "scope": "openid profile email", "response_mode": "fragment",
		"code_challenge": challengeOf(verifier), "code_challenge_method": "S256"} {
		if got := asked.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if nonce := asked.Get("nonce"); nonce == "" || strings.Contains(asked.Get("state"), nonce) {
		t.Errorf("nonce %q, state %q", nonce, asked.Get("state"))
	}
}
