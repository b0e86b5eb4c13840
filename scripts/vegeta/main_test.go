package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// standIn answers login, carts and adds as the sale does, for one user, and refuses everything else.
func standIn(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch call := r.Method + " " + r.URL.Path + " " + r.Header.Get("Access-Token") + " " + string(body); call {
	case `POST /login  {"username":"user5","password":"pass5"}`:
		fmt.Fprint(w, `{"user_id":5,"username":"user5","access_token":"T5"}`)
	case `POST /carts T5 `:
		fmt.Fprint(w, `{"cart_id":"C/5"}`)
	case `PATCH /carts/C/5 T5 {"food_id":1,"count":1}`:
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, `{"code":"UNEXPECTED"}`, http.StatusTeapot)
	}
}

func TestTargets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(standIn))
	defer server.Close()
	address := server.Listener.Addr().String()
	targets := func(step, first string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), []string{"-addr", address, "-step", step, "-count", "1", "-first", first,
			"-users", "9", "-foods", "1"}, &out, io.Discard)
		return out.String(), err
	}
	const header = `"header":{"Access-Token":["T5"]}`
	for step, want := range map[string]string{
		"login": `{"method":"POST","url":"http://h:1/login",` +
			`"body":"eyJ1c2VybmFtZSI6InVzZXI1IiwicGFzc3dvcmQiOiJwYXNzNSJ9"}`,
		"foods": `{"method":"GET","url":"http://h:1/foods",` + header + `}`,
		"carts": `{"method":"POST","url":"http://h:1/carts",` + header + `}`,
		"adds": `{"method":"PATCH","url":"http://h:1/carts/C%2F5",` +
			`"body":"eyJmb29kX2lkIjoxLCJjb3VudCI6MX0=",` + header + `}`,
		"orders": `{"method":"POST","url":"http://h:1/orders","body":"eyJjYXJ0X2lkIjoiQy81In0=",` + header + `}`,
	} {
		got, err := targets(step, "5")
		testkit.Must(t, err)
		if got != strings.ReplaceAll(want, "h:1", address)+"\n" {
			t.Errorf("%s: %swant %s", step, got, want)
		}
	}
	if got, err := targets("foods", "6"); err == nil || got != "" ||
		err.Error() != "cannot prepare user 6: login: 418 UNEXPECTED" {
		t.Errorf("a refused login: %q, %v", got, err)
	}
}

func TestBadFlags(t *testing.T) {
	for arguments, want := range map[string]string{
		"-step order":            `-step is "order"; it must be one of login, foods, carts, adds, orders`,
		"-step login -addr here": `-addr is "here"; it must be host:port`,
		"-step login -first 1":   `-first is 1; it must be from 2 to 4294967295`,
		"-step login -users 9 -first 8": `-count is 1000, but the catalogue has only 2 users from id 8 on; ` +
			`ask for fewer or give the server's catalogue flags`,
	} {
		err := run(context.Background(), strings.Fields(arguments), io.Discard, io.Discard)
		if err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", arguments, err, want)
		}
	}
}
