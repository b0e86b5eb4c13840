package audit

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

const (
	booksTimeout  = 2 * time.Minute // for one reading of orders or foods
	probeTimeout  = 2 * time.Second // for the question whether a server speaks TLS
	ordersBodyMax = 1 << 30         // bytes of /admin/orders: some ten million orders; and of /admin/log
	foodsBodyMax  = 16 << 20        // bytes of /foods
	loginBodyMax  = 4 << 10
	readyBodyMax  = 64 << 10
	errorBodyMax  = 200
)

// Item is a food and the number of its pieces in an order.
type Item struct {
	FoodID int64 `json:"food_id"`
	Count  int64 `json:"count"`
}

// Order is one order as /admin/orders lists it.
type Order struct {
	ID     string `json:"id"`
	UserID uint32 `json:"user_id"`
	Items  []Item `json:"items"`
	Total  int64  `json:"total"`
}

// Offer is one food as /foods lists it.
type Offer struct {
	ID    int64 `json:"id"`
	Price int64 `json:"price"`
	Stock int64 `json:"stock"`
}

// listing is the food list of one server.
type listing struct {
	server string
	foods  []Offer
}

// Books is the sale as root sees it. It speaks net/http: the proof of a load shares no code with the load.
type Books struct {
	servers []string
	scheme  string
	http    *http.Client
	token   string
}

// Open logs in as root at the first server that answers. Its errors are an ErrUnreachable, or an ErrUsage
// when root's password is not the server's or TLS is spoken on one side only.
func Open(ctx context.Context, access *sale.Access, root catalog.User) (*Books, error) {
	transport := &http.Transport{TLSClientConfig: access.TLS}
	b := &Books{servers: access.Servers, scheme: "http://", http: &http.Client{Transport: transport}}
	if access.TLS != nil {
		b.scheme = "https://"
	}
	credentials, err := json.Marshal(map[string]string{"username": root.Name, "password": root.Password})
	if err != nil {
		return nil, fmt.Errorf("%w: cannot encode root's login: %w", sale.ErrUsage, err)
	}
	err = b.anywhere(func(server string) error {
		return b.call(ctx, server, "POST", "/login", credentials, func(body io.Reader) error {
			var login struct {
				Token string `json:"access_token"`
			}
			if err := json.NewDecoder(io.LimitReader(body, loginBodyMax)).Decode(&login); err != nil {
				return err
			}
			b.token = login.Token
			return nil
		})
	})
	var answer *statusError
	var noTLS tls.RecordHeaderError
	switch {
	case err == nil:
		return b, nil
	case errors.As(err, &answer) && answer.status == http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s refuses root's password (from %s); set ROOT_PASSWORD as for the "+
			"server, or -data to its folder", sale.ErrUsage, answer.server, access.RootFrom)
	case access.TLS == nil && speaksTLS(ctx, access.Servers[0]):
		return nil, fmt.Errorf("%w: %s speaks TLS and bench plain HTTP; add -tls", sale.ErrUsage,
			access.Servers[0])
	case errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &noTLS):
		return nil, fmt.Errorf("%w: %s speaks plain HTTP and bench TLS; leave out -tls and -tls-ca",
			sale.ErrUsage, access.Servers[0])
	}
	return nil, err
}

// Readiness is what each server answers at GET /readyz, by its address; a server without that call is left
// out.
func (b *Books) Readiness(ctx context.Context) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, server := range b.servers {
		var answer map[string]any
		err := b.call(ctx, server, "GET", "/readyz", nil, func(body io.Reader) error {
			return json.NewDecoder(io.LimitReader(body, readyBodyMax)).Decode(&answer)
		})
		if err == nil {
			all[server] = answer
		}
	}
	return all
}

// orders reads every order of the sale that a query finds, "" for all, from the first server that answers.
func (b *Books) orders(ctx context.Context, query string) ([]Order, error) {
	var orders []Order
	err := b.anywhere(func(server string) error {
		orders = nil
		return b.call(ctx, server, "GET", "/admin/orders"+query, nil, func(body io.Reader) error {
			return decodeOrders(io.LimitReader(body, ordersBodyMax),
				func(o Order) { orders = append(orders, o) })
		})
	})
	return orders, err
}

// restocked reads from the log of the sale how many pieces of each food were added, from the first server
// that answers. Servers without a log add none.
func (b *Books) restocked(ctx context.Context) (map[int64]int64, error) {
	var log []struct {
		What string `json:"what"`
		Food int64  `json:"food_id"`
		Add  int64  `json:"add"`
	}
	err := b.anywhere(func(server string) error {
		log = nil
		err := b.call(ctx, server, "GET", "/admin/log", nil, func(body io.Reader) error {
			return json.NewDecoder(io.LimitReader(body, ordersBodyMax)).Decode(&log)
		})
		if isNotFound(err) {
			return nil
		}
		return err
	})
	restocked := map[int64]int64{}
	for _, entry := range log {
		if entry.What == "stock" {
			restocked[entry.Food] += entry.Add
		}
	}
	return restocked, err
}

// listings reads the food list of every server that answers; it is an error if no server does.
func (b *Books) listings(ctx context.Context) ([]listing, error) {
	var all []listing
	var failed []error
	for _, server := range b.servers {
		l := listing{server: server}
		err := b.call(ctx, server, "GET", "/foods", nil, func(body io.Reader) error {
			return json.NewDecoder(io.LimitReader(body, foodsBodyMax)).Decode(&l.foods)
		})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		all = append(all, l)
	}
	if len(all) == 0 {
		return nil, failed[0]
	}
	return all, nil
}

// anywhere tries the servers in order until one succeeds; if all fail, it returns the first error.
func (b *Books) anywhere(try func(server string) error) error {
	var first error
	for _, server := range b.servers {
		err := try(server)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// statusError is an answer other than 200 to root.
type statusError struct {
	server string
	status int
	body   []byte
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d %s", e.status, e.body) }

func isNotFound(err error) bool {
	var answer *statusError
	return errors.As(err, &answer) && answer.status == http.StatusNotFound
}

// call makes one request as root and hands the body of a 200 to decode. Its errors are an ErrUnreachable.
func (b *Books) call(ctx context.Context, server, method, path string, body []byte,
	decode func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, booksTimeout)
	defer cancel()
	err := func() error {
		request, err := http.NewRequestWithContext(ctx, method, b.scheme+server+path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Access-Token", b.token)
		response, err := b.http.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			// part of the message, even if cut off
			text, _ := io.ReadAll(io.LimitReader(response.Body, errorBodyMax))
			return &statusError{server, response.StatusCode, text}
		}
		return decode(response.Body)
	}()
	if err != nil {
		return fmt.Errorf("%w: cannot read %s %s of %s: %w", sale.ErrUnreachable, method, path, server, err)
	}
	return nil
}

// decodeOrders reads a JSON array of orders one by one, to its end.
func decodeOrders(body io.Reader, visit func(Order)) error {
	decoder := json.NewDecoder(body)
	if token, err := decoder.Token(); err != nil {
		return err
	} else if token != json.Delim('[') {
		return fmt.Errorf("orders begin with %v, not with an array", token)
	}
	for decoder.More() {
		var o Order
		if err := decoder.Decode(&o); err != nil {
			return err
		}
		visit(o)
	}
	_, err := decoder.Token()
	return err
}

// speaksTLS reports whether a server completes a TLS handshake.
func speaksTLS(ctx context.Context, server string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", server)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
