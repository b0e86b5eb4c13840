// Package webhook posts JSON to a URL, signed as Standard Webhooks 1.0 wants it (standardwebhooks.com).
package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	timeout    = 10 * time.Second
	replyMax   = 4 << 10 // bytes that are read of a reply's body
	headerMax  = 8 << 10 // bytes of a reply's header: a longer one is a failure
	secretsMax = 5       // while a secret is replaced by the next one, both sign
	idleConns  = 64
)

// Bytes of a secret, as Standard Webhooks wants them.
const (
	secretLeast = 24
	secretMost  = 64
)

// CheckSecret returns an error for a secret that Standard Webhooks does not want.
func CheckSecret(secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < secretLeast || len(key) > secretMost {
		return fmt.Errorf("a secret is not whsec_ and the base64 of %d to %d bytes; to make one: "+
			"echo whsec_$(openssl rand -base64 %[1]d)", secretLeast, secretMost)
	}
	return nil
}

// Hook is a URL and the keys that sign.
type Hook struct {
	url    string
	keys   []*webhooks.Webhook
	client *http.Client
}

// New makes a Hook. Its secrets pass CheckSecret. Addresses that are not public are refused when a
// connection is made, unless private allows them: a name may lead to another address each time.
func New(address string, private bool, secrets ...string) (*Hook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("the address %q of a hook is no URL of http or https without a password", address)
	}
	if len(secrets) == 0 || len(secrets) > secretsMax {
		return nil, fmt.Errorf("a hook has 1 to %d secrets, not %d", secretsMax, len(secrets))
	}
	h := &Hook{url: address}
	for _, secret := range secrets {
		if err := CheckSecret(secret); err != nil {
			return nil, err
		}
		key, err := webhooks.NewWebhook(secret)
		if err != nil {
			return nil, err
		}
		h.keys = append(h.keys, key)
	}
	dialer := &net.Dialer{Timeout: timeout}
	if !private {
		dialer.Control = refusePrivate
	}
	h.client = &http.Client{Timeout: timeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: idleConns,
			MaxResponseHeaderBytes: headerMax, ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout,
			IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the signature is for this URL's owner
		}}
	return h, nil
}

// Refused is a reply other than 2xx.
type Refused struct {
	Status int
	After  time.Duration // how long to wait, from Retry-After; 0 if it was not sent
}

func (r Refused) Error() string { return "the hook answers " + strconv.Itoa(r.Status) }

// Final reports whether the receiver will never take this post: 4xx but 408 and 429.
func (r Refused) Final() bool {
	return r.Status/100 == 4 && r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests
}

// Post posts a body. The same id means the same event, also when it is posted again. The error is a Refused,
// or tells why the receiver could not be reached.
func (h *Hook) Post(ctx context.Context, id string, now time.Time, body []byte) error {
	var signatures []string
	for _, key := range h.keys {
		signature, err := key.Sign(id, now, body)
		if err != nil {
			return fmt.Errorf("cannot sign: %w", err)
		}
		signatures = append(signatures, signature)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(webhooks.HeaderWebhookID, id)
	r.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(webhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	reply, err := h.client.Do(r)
	if err != nil {
		if with := (*url.Error)(nil); errors.As(err, &with) {
			err = with.Err // the URL may have a secret in it
		}
		return fmt.Errorf("cannot post: %w", err)
	}
	defer reply.Body.Close()
	_, _ = io.CopyN(io.Discard, reply.Body, replyMax) // so that the connection can be used again
	if reply.StatusCode/100 == 2 {
		return nil
	}
	return Refused{reply.StatusCode, retryAfter(reply.Header.Get("Retry-After"), now)}
}

// retryAfter reads a Retry-After: seconds, or a time.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// Close closes the connections that are idle.
func (h *Hook) Close() { h.client.CloseIdleConnections() }
