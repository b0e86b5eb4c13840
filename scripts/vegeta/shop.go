package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/client"
)

const (
	workers        = 16 // requests at once while preparing
	requestTimeout = 10 * time.Second
)

// buyer is a user with the results of the steps so far.
type buyer struct {
	user  catalog.User
	token string
	cart  string
}

// prepare makes all calls that the step needs for every buyer, at a server (host:port). The first refusal or
// fault ends it.
func prepare(ctx context.Context, address string, wanted step, buyers []buyer, foods []catalog.Food) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			c := &client.Client{Address: address, Timeout: requestTimeout}
			defer c.HangUp()
			for i := next.Add(1) - 1; i < int64(len(buyers)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				b, food := &buyers[i], foods[rand.IntN(len(foods))].ID
				if err := b.prepare(c, wanted, int(food)); err != nil {
					cancel(fmt.Errorf("cannot prepare user %d: %w", b.user.ID, err))
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// prepare makes the earlier calls of the flow that the step needs.
func (b *buyer) prepare(c *client.Client, wanted step, food int) (err error) {
	if wanted > stepLogin {
		if err := c.Login(b.user.Name, b.user.Password); err != nil {
			return fmt.Errorf("login: %w", err)
		}
		b.token = c.Token
	}
	if wanted > stepCarts {
		if b.cart, err = c.NewCart(); err != nil {
			return fmt.Errorf("new cart: %w", err)
		}
	}
	if wanted > stepAdds {
		if err := c.Add(b.cart, client.Pieces(food, 1)); err != nil {
			return fmt.Errorf("add: %w", err)
		}
	}
	return nil
}
