package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/catalog"
)

const (
	workers        = 16 // requests at once while preparing
	requestTimeout = 10 * time.Second
	replyMax       = 64 << 10 // bytes
)

// buyer is a user with what the steps so far gave.
type buyer struct {
	user  catalog.User
	token string
	cart  string
}

// shop is the server that the targets are prepared on.
type shop struct {
	base   string // http://host:port
	client *http.Client
}

func newClient() *http.Client {
	return &http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
}

// prepare takes every buyer through all that the step needs. The first refusal or fault ends it.
func (s shop) prepare(ctx context.Context, wanted step, buyers []buyer, foods []catalog.Food) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(buyers)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				b, food := &buyers[i], foods[rand.IntN(len(foods))].ID
				if err := s.prepareBuyer(ctx, wanted, b, food); err != nil {
					cancel(fmt.Errorf("cannot prepare user %d: %w", b.user.ID, err))
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (s shop) prepareBuyer(ctx context.Context, wanted step, b *buyer, food int64) error {
	for before := stepLogin; before < wanted; before++ {
		if before == stepFoods {
			continue // gives nothing that later steps need
		}
		body, err := s.send(ctx, newTarget(s.base, before, *b, food))
		if err != nil {
			return err
		}
		if err := b.keep(before, body); err != nil {
			return err
		}
	}
	return nil
}

// send returns the body of a successful reply; any other status is an error that shows it.
func (s shop) send(ctx context.Context, t target) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, t.Method, t.URL, bytes.NewReader(t.Body))
	if err != nil {
		return nil, err
	}
	if t.Header != nil {
		request.Header = t.Header
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, replyMax))
	if err != nil {
		return nil, fmt.Errorf("cannot read reply to %s %s: %w", t.Method, t.URL, err)
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s was answered %d %s", t.Method, t.URL, response.StatusCode, body)
	}
	return body, nil
}

// keep stores the token or the cart ID that a successful reply gives.
func (b *buyer) keep(taken step, body []byte) error {
	name, into := "access_token", &b.token
	switch taken {
	case stepLogin:
	case stepCarts:
		name, into = "cart_id", &b.cart
	default:
		return nil
	}
	var reply map[string]any
	err := json.Unmarshal(body, &reply)
	text, _ := reply[name].(string)
	if err != nil || text == "" {
		return fmt.Errorf("the reply to %s has no %s: %s", stepNames[taken], name, body)
	}
	*into = text
	return nil
}
