// Command talk lets two users talk: talk localhost:8080 user2 pass2 user3 pass3 Hello. The second one writes
// what has come.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"flashsale/internal/testkit/client"
)

const tries = 20

// user is somebody who has logged in.
type user struct {
	http  client.Client
	ID    int    `json:"user_id"`
	Token string `json:"access_token"`
}

type thread struct {
	ID     string `json:"thread_id"`
	Read   int    // the newest message that the user has read
	Unread int
}

type threadPage struct {
	Threads []thread
	Changed int64 // the next poll begins here
}

type messagePage struct {
	Messages []struct{ Content string }
	Last     int
}

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "usage: talk host:port name password name password text")
		os.Exit(2)
	}
	if err := talk(os.Args[1], os.Args[2:4], os.Args[4:6], os.Args[6]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func talk(server string, first, second []string, text string) error {
	var writer, reader user
	defer writer.http.HangUp()
	defer reader.http.HangUp()
	var list threadPage
	if err := errors.Join(writer.login(server, first[0], first[1]), reader.login(server, second[0], second[1]),
		reader.call("GET", "/threads", nil, &list)); err != nil {
		return err
	}
	var t thread
	body := map[string][]int{"participants": {reader.ID}}
	if err := writer.call("POST", "/threads", body, &t); err != nil {
		return err
	}
	path := "/threads/" + t.ID
	// The id is made once: the same message is never stored twice.
	message := map[string]string{"content": text, "id": rand.Text()}
	if err := writer.call("POST", path+"/messages", message, nil); err != nil {
		return err
	}
	t, err := reader.wait(t.ID, list.Changed)
	if err != nil {
		return err
	}
	var page messagePage
	if err := reader.call("GET", fmt.Sprintf("%s/messages?after=%d", path, t.Read), nil, &page); err != nil {
		return err
	}
	for _, m := range page.Messages {
		fmt.Println(m.Content)
	}
	return reader.call("PATCH", path, map[string]int{"read": page.Last}, nil)
}

func (u *user) login(server, name, password string) error {
	u.http.Address = server
	err := u.call("POST", "/login", map[string]string{"username": name, "password": password}, u)
	u.http.Token = u.Token
	return err
}

// wait polls until a thread has messages that are not read.
func (u *user) wait(id string, changed int64) (thread, error) {
	for {
		var page threadPage
		if err := u.call("GET", fmt.Sprintf("/threads?after=%d", changed), nil, &page); err != nil {
			return thread{}, err
		}
		for _, t := range page.Threads {
			if t.ID == id && t.Unread > 0 {
				return t, nil
			}
		}
		changed = page.Changed
		time.Sleep(500 * time.Millisecond)
	}
}

// call sends a request until its outcome is known: each call here is safe to send again.
func (u *user) call(method, path string, body, into any) (err error) {
	text := ""
	if body != nil {
		text = client.JSON(body)
	}
	for range tries {
		err = u.http.Call(method, path, text, into)
		var r client.Refusal
		if err == nil || errors.As(err, &r) && r.Status < 500 && r.Status != 429 {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}
