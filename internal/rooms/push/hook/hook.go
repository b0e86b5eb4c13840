// Package hook posts JSON to a URL, signed as Standard Webhooks wants it.
package hook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	timeout  = 10 * time.Second
	replyMax = 4 << 10 // bytes that are read of a reply
)

// Hook is a URL and the key that signs.
type Hook struct {
	url    string
	key    *webhooks.Webhook
	client *http.Client
}

// New makes a Hook. The secret is whsec_ and base64.
func New(url, secret string) (*Hook, error) {
	key, err := webhooks.NewWebhook(secret)
	if err != nil {
		return nil, fmt.Errorf("cannot read the secret of the hook: %w", err)
	}
	client := &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the signature is for this URL's owner
	}}
	return &Hook{url, key, client}, nil
}

// Refused is a reply that will not change: the post is not repeated.
type Refused struct{ Status int }

func (r Refused) Error() string { return "the hook refuses with " + strconv.Itoa(r.Status) }

// Post posts a body. The same id means the same event, also when it is posted again. The error is a Refused
// or one after which the post may be repeated.
func (h *Hook) Post(ctx context.Context, id string, now time.Time, body []byte) error {
	signature, err := h.key.Sign(id, now, body)
	if err != nil {
		return fmt.Errorf("cannot sign: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(webhooks.HeaderWebhookID, id)
	r.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(webhooks.HeaderWebhookSignature, signature)
	reply, err := h.client.Do(r)
	if err != nil {
		return fmt.Errorf("cannot post: %w", err)
	}
	defer reply.Body.Close()
	_, _ = io.CopyN(io.Discard, reply.Body, replyMax) // so that the connection can be used again
	switch status := reply.StatusCode; {
	case status/100 == 2:
		return nil
	case status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
		return Refused{status}
	default:
		return fmt.Errorf("the hook answers %d", status)
	}
}
