package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// serve starts a server with the conversation.
func serve(t *testing.T) *launch.Server {
	t.Helper()
	s := launch.StartServer(t, "", nil, "-chat", "-push-address", "127.0.0.1:0", "-redis",
		redistest.New(t).Socket, "-users", "100", "-workers", "1", "-limits", "off", "-room-pace", "0")
	s.Serves(t)
	return s
}

// The load finds nothing wrong with a server, although its push process is killed meanwhile.
func TestLoad(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := serve(t)
	for name, args := range map[string]string{
		"pairs":  "-users 10",
		"groups": "-users 12 -members 6 -devices 2 -churn -closing -first 20",
		"room":   "-users 10 -room -first 40",
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseLoad(append([]string{"-json", "-for", "0", "-rate", "50", "-addr", s.Address},
				strings.Fields(args)...), io.Discard)
			testkit.Must(t, err)
			c, text := newCrowd(o), &strings.Builder{}
			ctx, end := context.WithCancel(t.Context())
			var load sync.WaitGroup
			load.Go(func() { err = c.run(ctx, text) })
			defer load.Wait()
			defer end()
			testkit.Until(t, "messages", func() bool { return c.stored.Load() >= 50 })
			killPush(s)
			testkit.Until(t, "recovery and more messages", func() bool {
				return c.recovered.Load() > 0 && c.stored.Load() >= 100
			})
			end()
			load.Wait()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var r report
			testkit.Must(t, json.Unmarshal([]byte(text.String()), &r))
			if r.Acknowledged < 100 || r.Recovered == 0 || r.Arriving.P50 <= 0 || len(r.Checks) != 6 {
				t.Errorf("the report is %+v", r)
			}
		})
	}
}

// killPush kills the process that holds the websockets.
func killPush(s *launch.Server) {
	for _, pid := range s.Workers() {
		if role, _ := proc.Environ(pid); slices.Contains(role, "FLASHSALE_WORKER=push/0") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// screen is a terminal that a test reads.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) has(want string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), want)
}

func (s *screen) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), what)
}

func (s *screen) index(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Index(s.text.String(), what)
}

func (s *screen) shows(t *testing.T, want string) {
	t.Helper()
	testkit.Until(t, want, func() bool { return s.has(want) })
}

// sit starts the program for a user, and returns where the user types and reads.
func sit(t *testing.T, s *launch.Server, args ...string) (types func(string), reads *screen) {
	t.Helper()
	keyboard, hand := io.Pipe()
	reads = &screen{}
	var program sync.WaitGroup
	program.Go(func() { // without Must, which is for the test's own goroutine
		defer keyboard.Close() // the test must not wait for a program that has ended
		if err := run(append([]string{"-addr", s.Address}, args...), keyboard, reads); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { hand.Close(); program.Wait() })
	return func(line string) { _, _ = io.WriteString(hand, line+"\n") }, reads
}

// Two people talk; one looks elsewhere meanwhile, and comes back.
func TestPeople(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := serve(t)
	ann, annReads := sit(t, s, "-user", "ann", "-password", "a long password", "-register")
	bob, bobReads := sit(t, s, "-user", "user4", "-password", "pass4")
	ann("/with user4")
	annReads.shows(t, "--- user4")
	ann("hello")
	bobReads.shows(t, "* ann writes elsewhere: hello") // whom bob does not have as a contact
	testkit.Until(t, "1 unread", func() bool {         // the list follows the message
		bob("/threads")
		return bobReads.has("1 unread")
	})
	bob("/open 1")
	bobReads.shows(t, ": hello")
	bob("I am here")
	annReads.shows(t, "user4: I am here")
	bob("/who")
	bobReads.shows(t, "No contacts yet")
	ann("/who")
	annReads.shows(t, "user4 is online")
	bob("/nick Annie")
	bobReads.shows(t, "--- Annie")
	bob("/mute")
	bobReads.shows(t, "--- Annie, muted")
	bob("/room")
	bobReads.shows(t, "--- the room of the sale")
	bob("/history")
	bobReads.shows(t, "the beginning")
	bob("/group ann user5")
	bobReads.shows(t, "--- group of 3")
	bob("all of you")
	annReads.shows(t, "elsewhere: all of you")
	bob("/add user6")
	bobReads.shows(t, "user6 is a member")
	bob("/remove user5")
	bobReads.shows(t, "user5 is no member any more")
	bob("/owner ann")
	bobReads.shows(t, "ann is an owner")
	bob("/members")
	for _, member := range []string{"you, owner", "ann, owner", "user6, member"} {
		bobReads.shows(t, "  "+member)
	}
	bob("/leave")
	bobReads.shows(t, "--- You have left group of")
	bob("/block ann")
	bobReads.shows(t, "ann is blocked")
	ann("can you read this?")
	annReads.shows(t, "USER_BLOCKED")
	bob("/unblock ann")
	bobReads.shows(t, "ann may write to you again")
	bob("/quit")
	for _, reads := range []*screen{annReads, bobReads} {
		if reads.has("user 2") { // the ids of people who have registered begin so
			t.Errorf("a name is missing:\n%s", reads.text.String())
		}
	}
}

// Who only polls sees everything: each message of the open thread once and in order, and that others have
// some, however many there are.
func TestPolling(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := serve(t)
	writer := client.Client{Address: s.Address}
	defer writer.HangUp()
	testkit.Must(t, writer.LoginUser(7))
	reader, reads := sit(t, s, "-user", "user8", "-password", "pass8", "-poll")
	reader("/with user7")
	reads.shows(t, "--- user7")
	const messages, groups = 3 * historyPage, 30 // more than a page of each
	for i := range messages {
		content := fmt.Sprintf(`{"content":"message %d."}`, i)
		testkit.Must(t, writer.Call("POST", "/threads/u7-8/messages", content, nil))
	}
	for i := range groups {
		var group thread
		testkit.Must(t, writer.Call("POST", "/threads",
			fmt.Sprintf(`{"participants":[8],"group":true,"key":"%d"}`, i), &group))
		testkit.Must(t, writer.Call("POST", "/threads/"+group.ID+"/messages", `{"content":"hello"}`, nil))
	}
	testkit.Until(t, "all groups", func() bool { return reads.count("group of 2: user7: 1 unread") == groups })
	at := 0
	for i := range messages {
		text := fmt.Sprintf("user7: message %d.", i)
		reads.shows(t, text)
		if here := reads.index(text); here < at || reads.count(text) != 1 {
			t.Errorf("%q comes %d times, or out of order", text, reads.count(text))
		} else {
			at = here
		}
	}
}

func TestBadUsage(t *testing.T) {
	for _, args := range []string{"", "-user x y", "load -users 1", "load -churn", "load -closing",
		"load -nonsense", "load -members 1", "load -rate -1"} {
		if err := run(strings.Fields(args), nil, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v, want bad usage", args, err)
		}
	}
}
