//go:build validate

package main

import (
	"fmt"
	"net/http"

	"flashsale/internal/openapi"
	"flashsale/internal/testkit/client"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// newValidation compares every n-th reply with the description of the first server; 0 = no reply.
func newValidation(every int64, opt load.Options) (*load.Validation, error) {
	if every == 0 {
		return nil, nil
	}
	const path = "/openapi.json"
	c := client.Client{Address: opt.Servers[0], TLS: opt.TLS, Timeout: opt.Timeout, NewConnections: true}
	r, err := c.Do("GET", path, "")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: cannot read %s for -validate: %w", sale.ErrUnreachable, path, err)
	case r.Status != http.StatusOK:
		return nil, fmt.Errorf("%w: -validate needs %s, and %s answers it %d", sale.ErrUsage, path, c.Address,
			r.Status)
	}
	d, err := openapi.Parse([]byte(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: -validate: %w", sale.ErrUsage, err)
	}
	return &load.Validation{Every: every,
		Check: func(method, path string, status int, header http.Header, body []byte) error {
			return d.Check(openapi.Reply{Method: method, Target: path, Status: status, Header: header, Body: body})
		}}, nil
}
