package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"flashsale/internal/testkit/client"
)

// target is one request as a line of vegeta's JSON format has it; Body becomes base64.
type target struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Body   []byte      `json:"body,omitempty"`
	Header http.Header `json:"header,omitempty"`
}

// newTarget is the buyer's request of a step; base is http://host:port. An add puts one piece of the food
// into the cart.
func newTarget(base string, s step, b buyer, food int64) target {
	header := http.Header{"Access-Token": {b.token}}
	switch s {
	case stepLogin:
		return target{"POST", base + "/login", []byte(client.LoginBody(b.user.Name, b.user.Password)), nil}
	case stepFoods:
		return target{"GET", base + "/foods", nil, header}
	case stepCarts:
		return target{"POST", base + "/carts", nil, header}
	case stepAdds:
		return target{"PATCH", base + client.CartPath(b.cart), []byte(client.JSON(client.Pieces(int(food), 1))),
			header}
	default:
		return target{"POST", base + "/orders", []byte(client.OrderBody(b.cart)), header}
	}
}

// writeTargets writes one line for each buyer; food chooses the food of each.
func writeTargets(out io.Writer, base string, s step, buyers []buyer, food func() int64) error {
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	for _, b := range buyers {
		if err := encoder.Encode(newTarget(base, s, b, food())); err != nil {
			return fmt.Errorf("cannot write targets: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("cannot write targets: %w", err)
	}
	return nil
}
