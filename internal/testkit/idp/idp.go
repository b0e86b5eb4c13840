// Package idp is an OpenID provider for tests. It knows one person, asks no password, and can be wrong.
package idp

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// The client that the provider knows.
const (
	ClientID = "flashsale"
	Secret   = "a secret of the client: +/&?"
)

// Provider is a provider on a port of this machine.
type Provider struct {
	*httptest.Server

	mu    sync.Mutex
	fault Fault
	codes map[string]url.Values // what the browser has asked for, by code; each is good for one use
	calls map[string]int        // by path
}

// Fault is what the provider does wrong.
type Fault struct {
	Tells     map[string]any  // take the place of others in the description
	Claims    map[string]any  // take the place of others in the token
	Signature bool            // the token is signed by another key
	KeyID     string          // names the key of the token; "" for its right name
	Unsigned  bool            // the token has the algorithm "none"
	Status    int             // of all answers; 0: as they are
	Long      bool            // an answer is longer than any that is right
	Hang      <-chan struct{} // until then nothing is answered
}

// The keys of all providers of a test binary, the right one and another: they take long to make.
var key, other = sync.OnceValue(newKey), sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	made, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // the source of random bits does not fail
	}
	return made
}

// Start starts a provider for the time of a test. It sends browsers back to wherever they ask for.
func Start(tb testing.TB) *Provider {
	tb.Helper()
	p := &Provider{codes: map[string]url.Values{}, calls: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		fault := p.fault
		p.calls[r.URL.Path]++
		p.mu.Unlock()
		if fault.Hang != nil {
			select {
			case <-fault.Hang:
			case <-r.Context().Done():
			}
		}
		if fault.Status != 0 {
			http.Error(w, "a fault", fault.Status)
			return
		}
		if fault.Long {
			_, _ = w.Write(make([]byte, 4<<20))
			return
		}
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(p.Close)
	return p
}

// Break has the provider do something wrong from now on.
func (p *Provider) Break(fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Calls is how often a path was asked for.
func (p *Provider) Calls(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[path]
}

// Visit goes where a login sends the browser, and returns where the provider sends it then, with what it is
// told.
func Visit(tb testing.TB, address string) (back *url.URL, told url.Values) {
	tb.Helper()
	asked, err := http.NewRequest("GET", address, nil)
	testkit.Must(tb, err)
	reply, err := http.DefaultTransport.RoundTrip(asked) // which follows nothing
	testkit.Must(tb, err)
	defer reply.Body.Close()
	back, err = reply.Location()
	testkit.Must(tb, err)
	told, err = url.ParseQuery(cmp.Or(back.Fragment, back.RawQuery))
	testkit.Must(tb, err)
	return back, told
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	fault := p.fault
	p.mu.Unlock()
	told := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize",
		"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256"}}
	maps.Copy(told, fault.Tells)
	answer(w, told)
}

// authorize sends the browser back with a code, as after a login.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	if asked.Get("client_id") != ClientID ||
		asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" {
		http.Error(w, "the client asks for something else: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = asked
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {asked.Get("state")}}
	separator := map[string]string{"fragment": "#"}[asked.Get("response_mode")]
	http.Redirect(w, r, asked.Get("redirect_uri")+cmp.Or(separator, "?")+back.Encode(), http.StatusFound)
}

// token gives a token for a code.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, inHeader := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if !inHeader {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	code := r.FormValue("code")
	p.mu.Lock()
	asked, fault := p.codes[code], p.fault
	delete(p.codes, code)
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if id != ClientID || secret != Secret || asked == nil ||
		r.FormValue("grant_type") != "authorization_code" ||
		asked.Get("redirect_uri") != r.FormValue("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "sub": "1", "aud": ClientID, "nonce": asked.Get("nonce"),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
		"preferred_username": "alice", "email": "alice@shop.example", "email_verified": true}
	maps.Copy(claims, fault.Claims)
	answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer",
		"id_token": sign(claims, fault)})
}

// sign makes a token.
func sign(claims map[string]any, fault Fault) string {
	head := map[string]any{"alg": "RS256", "kid": cmp.Or(fault.KeyID, "1")}
	if fault.Unsigned {
		head["alg"] = "none"
	}
	text := encode(marshal(head)) + "." + encode(marshal(claims))
	if fault.Unsigned {
		return text + "."
	}
	signer := key
	if fault.Signature {
		signer = other
	}
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, signer(), crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // a key that was just made can sign
	}
	return text + "." + encode(signature)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	exponent := binary.BigEndian.AppendUint32(nil, uint32(key().E))
	answer(w, map[string]any{"keys": []map[string]any{{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
		"n": encode(key().N.Bytes()), "e": encode(exponent[1:])}}})
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts and numbers can always be written
	}
	return text
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(marshal(v)) // a client that has gone needs no answer
}
