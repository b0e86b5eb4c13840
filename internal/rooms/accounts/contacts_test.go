package accounts

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

func TestContacts(t *testing.T) { onEach(t, testContacts) }

// blocks reports whether a block stands, whatever the list of the blocker shows.
func blocks(a *Accounts, by, user uint32) (bool, error) {
	part, key := userKey("blockers", user)
	var n int64
	err := a.do(part, pipeline.Command(&n, "SISMEMBER", key, idText(by)))
	return n == 1, err
}

// put puts a whole contact.
func (a *Accounts) put(owner uint32, c Contact) error {
	_, err := a.PutContact(owner, c.User, ContactChange{&c.Blocked, &c.Nickname})
	return err
}

func testContacts(t *testing.T, a *Accounts) {
	list := func(owner uint32, want string) {
		t.Helper()
		contacts, err := a.Contacts(owner)
		testkit.Must(t, err)
		testkit.Same(t, fmt.Sprint("contacts of ", owner), fmt.Sprint(contacts), want)
	}
	blocked := func(by, user uint32, want bool) {
		t.Helper()
		got, err := blocks(a, by, user)
		testkit.Must(t, err)
		testkit.Same(t, fmt.Sprint(user, " is blocked by ", by), got, want)
	}
	for range 2 { // each may be repeated
		testkit.Must(t, a.put(1, Contact{User: 3, Nickname: "three"}))
		testkit.Must(t, a.put(1, Contact{User: 2, Blocked: true}))
		testkit.Must(t, a.put(2, Contact{User: 1}))
	}
	list(1, "[{2 true  false} {3 false three false}]")
	list(2, "[{1 false  true}]")
	blocked(1, 2, true)
	blocked(2, 1, false)
	contact, err := a.Contact(1, 3)
	if err != nil || contact != (Contact{User: 3, Nickname: "three"}) {
		t.Errorf("contact %v, %v", contact, err)
	}
	testkit.Must(t, a.put(1, Contact{User: 2, Nickname: "two"}))
	blocked(1, 2, false)
	list(2, "[{1 false  false}]")
	testkit.Must(t, a.put(1, Contact{User: 2, Blocked: true, Nickname: "two"}))
	blocked(1, 2, true)
	for range 2 {
		testkit.Must(t, a.DeleteContact(1, 2))
	}
	blocked(1, 2, false)
	_, err = a.Contact(1, 2)
	testkit.Wants(t, "a contact that is gone", err, ErrNoContact)
	testkit.Wants(t, "oneself", a.put(1, Contact{User: 1}), ErrBadContact)
	long := Contact{User: 2, Nickname: strings.Repeat("é", 65)}
	testkit.Wants(t, "a long nickname", a.put(1, long), ErrBadContact)
	testkit.Wants(t, "a hidden character", a.put(1, Contact{User: 2, Nickname: "a\u202eb"}), ErrBadContact)
}

// Calls that change one field each, at the same moment, lose nothing of each other.
func TestFieldsOfAContact(t *testing.T) { onEach(t, testFieldsOfAContact) }

func testFieldsOfAContact(t *testing.T, a *Accounts) {
	yes, no, bob := true, false, "Bob"
	for _, step := range []struct {
		change ContactChange
		want   Contact
	}{
		{ContactChange{}, Contact{User: 2}},
		{ContactChange{Nickname: &bob}, Contact{User: 2, Nickname: bob}},
		{ContactChange{Blocked: &yes}, Contact{User: 2, Blocked: true, Nickname: bob}},
		{ContactChange{}, Contact{User: 2, Blocked: true, Nickname: bob}},
		{ContactChange{Nickname: new(string)}, Contact{User: 2, Blocked: true}},
		{ContactChange{Blocked: &no}, Contact{User: 2}},
	} {
		got, err := a.PutContact(1, 2, step.change)
		testkit.Must(t, err)
		testkit.Same(t, "changed", got, step.want)
		stands, err := blocks(a, 1, 2)
		testkit.Must(t, err)
		testkit.Same(t, "the block", stands, step.want.Blocked)
	}
	for round := range 50 {
		user := uint32(100 + round)
		var racing sync.WaitGroup
		for _, change := range []ContactChange{{Blocked: &yes}, {Nickname: &bob}} {
			racing.Go(func() {
				_, err := a.PutContact(1, user, change)
				testkit.Must(t, err)
			})
		}
		racing.Wait()
		got, err := a.Contact(1, user)
		testkit.Must(t, err)
		testkit.Same(t, "after both", got, Contact{User: user, Blocked: true, Nickname: bob})
	}
}

func TestContactsMax(t *testing.T) {
	a := run(t, config(roomtest.Redis(t)))
	for user := uint32(2); user < 2+contactsMax; user++ {
		testkit.Must(t, a.put(1, Contact{User: user}))
	}
	testkit.Wants(t, "one more", a.put(1, Contact{User: 5000, Blocked: true}), ErrTooManyContacts)
	blocked, err := blocks(a, 1, 5000)
	if err != nil || blocked {
		t.Errorf("a refused block stands: %v, %v", blocked, err)
	}
	testkit.Must(t, a.put(1, Contact{User: 2, Blocked: true})) // a change
	list, err := a.Contacts(1)
	testkit.Must(t, err)
	testkit.Same(t, "contacts", len(list), contactsMax)
}

// A block that the list shows stands, whatever other calls of the same owner came at the same moment.
func TestBlockRace(t *testing.T) {
	redis := roomtest.Redis(t)
	one, other := run(t, config(redis)), run(t, config(redis))
	for round := range 300 {
		var racing sync.WaitGroup
		racing.Go(func() { testkit.Must(t, one.put(1, Contact{User: 2, Blocked: true})) })
		racing.Go(func() {
			if round%2 == 0 {
				testkit.Must(t, other.DeleteContact(1, 2))
			} else {
				testkit.Must(t, other.put(1, Contact{User: 2}))
			}
		})
		racing.Wait()
		contact, err := one.Contact(1, 2)
		if !errors.Is(err, ErrNoContact) {
			testkit.Must(t, err)
		}
		blocked, err := blocks(one, 1, 2)
		testkit.Must(t, err)
		if contact.Blocked && !blocked {
			t.Fatalf("round %d: the list shows a block that does not stand", round)
		}
	}
}
