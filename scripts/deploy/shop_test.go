package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

const rootPassword = "root-of-the-tests"

// newServer starts a server with the built-in catalogue on a Redis, at host:8080.
func newServer(t *testing.T, redis, host string, env ...string) *process {
	t.Helper()
	env = append([]string{"ROOT_PASSWORD=" + rootPassword, "TOKEN_SECRET=" + strings.Repeat("s", 32)}, env...)
	p := start(t, env, filepath.Join(built, "flashsale"), "-app-host", host, "-workers", "1", "-redis", redis,
		"-data", filepath.Join(t.TempDir(), "data"))
	await(t, "server is ready", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("the server ended at its start:\n%s", read(t, p.log))
		default:
		}
		return get(http.DefaultClient, "http://"+host+":8080/readyz") == http.StatusOK
	})
	return p
}

// buyer calls the sale.
type buyer struct {
	client *http.Client
	url    string // of the sale
	token  string
}

// call sends a request and returns status and body; 0 and the error where there is no answer.
func (b *buyer) call(method, path, body string) (status int, reply string) {
	request, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Access-Token", b.token)
	response, err := b.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// field calls and returns a string of the JSON object in a reply with status 200.
func (b *buyer) field(method, path, body, name string) (string, error) {
	status, reply := b.call(method, path, body)
	var object map[string]any
	if err := json.Unmarshal([]byte(reply), &object); status != http.StatusOK || err != nil {
		return "", fmt.Errorf("%s %s: %d %s", method, path, status, reply)
	}
	value, _ := object[name].(string)
	return value, nil
}

func (b *buyer) login(name, password string) (err error) {
	body := fmt.Sprintf(`{"username":%q,"password":%q}`, name, password)
	b.token, err = b.field("POST", "/login", body, "access_token")
	return err
}

// fill makes a cart with a piece of each food.
func (b *buyer) fill(foods ...int) (cart string, err error) {
	if cart, err = b.field("POST", "/carts", "", "cart_id"); err != nil {
		return "", err
	}
	for _, food := range foods {
		body := fmt.Sprintf(`{"food_id":%d,"count":1}`, food)
		if status, reply := b.call("PATCH", "/carts/"+cart, body); status != http.StatusNoContent {
			return "", fmt.Errorf("PATCH: %d %s", status, reply)
		}
	}
	return cart, nil
}

// order places an order and returns its id.
func (b *buyer) order(cart string) (string, error) {
	return b.field("POST", "/orders", fmt.Sprintf(`{"cart_id":%q}`, cart), "id")
}
