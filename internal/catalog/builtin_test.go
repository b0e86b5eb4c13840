package catalog

import (
	"context"
	"errors"
	"flashsale/internal/testkit"
	"slices"
	"testing"
)

func TestBuiltIn(t *testing.T) {
	var users []User
	foods, err := Read(t.Context(), Config{Users: 3, Foods: 4, Stock: 50, RootPassword: "geheim"},
		func(u User) error {
			users = append(users, u)
			return nil
		})
	testkit.Must(t, err)
	wantUsers := []User{{1, "root", "geheim", 0}, {2, "user2", "pass2", 0}, {3, "user3", "pass3", 0}}
	if !slices.Equal(users, wantUsers) {
		t.Errorf("users %v, want %v", users, wantUsers)
	}
	wantFoods := []Food{{1, 50, 14}, {2, 50, 25}, {3, 50, 8}, {4, 50, 19}}
	if !slices.Equal(foods, wantFoods) {
		t.Errorf("foods %v, want %v", foods, wantFoods)
	}
}

func TestBuiltInRefusals(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no root password", Config{Users: 1, Foods: 1}, "built in: root has no password; set one"},
		{"no users", Config{Foods: 1, RootPassword: "r"},
			"built in (0 users, 1 foods): no users; add at least user 1 named root"},
		{"no foods", Config{Users: 1, RootPassword: "r"},
			"built in (1 users, 0 foods): no foods; add at least one"},
		{"negative stock", Config{Users: 1, Foods: 1, Stock: -1, RootPassword: "r"},
			`built in, table food, row 1: stock "-1" is not a whole number from 0 to 1000000000000000`},
		{"too many foods", Config{Users: 1, Foods: 1_000_001, RootPassword: "r"},
			"built in, table food, row 1000001: more than 1000000 foods; remove some"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(t.Context(), test.cfg)
			wantError(t, err, test.want)
		})
	}
}

func TestReadEndsWhenTheVisitorFails(t *testing.T) {
	enough := errors.New("enough")
	visits := 0
	_, err := Read(t.Context(), builtInConfig(10), func(User) error {
		visits++
		return enough
	})
	if err != enough || visits != 1 {
		t.Errorf("error %v after %d visits, want %v after 1", err, visits, enough)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Read(ctx, builtInConfig(10), func(User) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestSource(t *testing.T) {
	tests := []struct {
		cfg  Config
		want string
	}{
		{Config{Users: 10000, Foods: 100}, "built in (10000 users, 100 foods)"},
		{Config{Dir: "data", Users: 10000}, "CSV in data"},
		{Config{Dir: "data", DB: Database{Host: "db", Port: 3306, Name: "eleme", User: "root", Password: "toor"}},
			"MySQL eleme@db:3306"},
		{Config{DB: Database{Host: "::1", Port: 3306, Name: "eleme"}}, "MySQL eleme@[::1]:3306"},
	}
	for _, test := range tests {
		if got := test.cfg.Source(); got != test.want {
			t.Errorf("source %q, want %q", got, test.want)
		}
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v\n want %s", err, want)
	}
}
