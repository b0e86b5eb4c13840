package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/catalog"
)

func TestTargets(t *testing.T) {
	alice := buyer{user: catalog.User{ID: 2, Name: `al"ice`, Password: "a<b"}, token: "TOKEN", cart: "CA/RT"}
	for name, want := range map[string]string{
		"login": `{"method":"POST","url":"http://h:1/login",` +
			`"body":"eyJ1c2VybmFtZSI6ImFsXCJpY2UiLCJwYXNzd29yZCI6ImFcdTAwM2NiIn0="}`,
		"foods": `{"method":"GET","url":"http://h:1/foods","header":{"Access-Token":["TOKEN"]}}`,
		"carts": `{"method":"POST","url":"http://h:1/carts","header":{"Access-Token":["TOKEN"]}}`,
		"adds": `{"method":"PATCH","url":"http://h:1/carts/CA%2FRT",` +
			`"body":"eyJmb29kX2lkIjo3LCJjb3VudCI6MX0=","header":{"Access-Token":["TOKEN"]}}`,
		"orders": `{"method":"POST","url":"http://h:1/orders",` +
			`"body":"eyJjYXJ0X2lkIjoiQ0EvUlQifQ==","header":{"Access-Token":["TOKEN"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := step(slices.Index(stepNames, name))
			var out bytes.Buffer
			if err := writeTargets(&out, "http://h:1", s, []buyer{alice, alice}, func() int64 {
				return 7
			}); err != nil {
				t.Fatal(err)
			}
			if got, want := out.String(), want+"\n"+want+"\n"; got != want {
				t.Errorf("targets:\n%swant:\n%s", got, want)
			}
		})
	}
}

// standIn answers login, carts and adds as the sale does, for one user, and refuses everything else.
func standIn(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch call := r.Method + " " + r.URL.Path + " " + r.Header.Get("Access-Token") + " " + string(body); call {
	case `POST /login  {"username":"user5","password":"pass5"}`:
		fmt.Fprint(w, `{"user_id":5,"username":"user5","access_token":"T5"}`)
	case `POST /carts T5 `:
		fmt.Fprint(w, `{"cart_id":"C5"}`)
	case `PATCH /carts/C5 T5 {"food_id":1,"count":1}`:
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, `{"code":"UNEXPECTED"}`, http.StatusTeapot)
	}
}

func TestPreparesWhatOrdersNeed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(standIn))
	defer server.Close()
	addr := server.Listener.Addr().String()
	arguments := []string{"-addr", addr, "-step", "orders", "-count", "1", "-first", "5", "-users", "9",
		"-foods", "1"}

	var out bytes.Buffer
	if err := run(context.Background(), arguments, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	want := `{"method":"POST","url":"http://` + addr +
		`/orders","body":"eyJjYXJ0X2lkIjoiQzUifQ==","header":{"Access-Token":["T5"]}}` + "\n"
	if out.String() != want {
		t.Errorf("targets: %swant: %s", out.String(), want)
	}
}

func TestRefusalEndsPreparation(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(standIn))
	defer server.Close()
	var out bytes.Buffer
	err := run(context.Background(), []string{"-addr", server.Listener.Addr().String(), "-step", "foods",
		"-count", "1", "-first", "6"}, &out, io.Discard)
	if err == nil || err.Error() != "cannot prepare user 6: login: 418 UNEXPECTED" {
		t.Errorf("error: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("wrote targets all the same: %s", out.String())
	}
}

func TestBadFlags(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                       `-step is ""; it must be one of login, foods, carts, adds, orders`,
		"-step order":            `-step is "order"; it must be one of login, foods, carts, adds, orders`,
		"-step login -addr here": `-addr is "here"; it must be host:port`,
		"-step login -count 0":   `-count is 0; it must be from 1 to 1000000`,
		"-step login -first 1":   `-first is 1; it must be from 2 to 4294967295`,
		"-step login -users 9 -first 8": `-count is 1000, but the catalogue has only 2 users from id 8 on; ` +
			`ask for fewer or give the server's catalogue flags`,
		"-step login more": `unexpected argument "more" (-h lists all flags)`,
	} {
		err := run(context.Background(), strings.Fields(arguments), io.Discard, io.Discard)
		if err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", arguments, err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	var help bytes.Buffer
	if err := run(context.Background(), []string{"-h"}, io.Discard, &help); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error: %v", err)
	}
	if !strings.Contains(help.String(), "-step") {
		t.Errorf("help: %s", help.String())
	}
}
