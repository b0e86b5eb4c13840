package events

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"flashsale/internal/webhook"
)

const (
	receiversMax = 20
	nameMax      = 64 // bytes
)

// Receiver is a line of the file of webhooks.
type Receiver struct {
	Name    string // of the file; the progress of its deliveries belongs to it
	URL     string
	Secrets []string // the newest first
	Types   []string // of events, or their beginnings as "order."; empty: all
}

var header = []string{"name", "url", "secrets", "events"}

// ReadReceivers reads the file of webhooks: CSV with the header name,url,secrets,events. Several secrets,
// and several types of events, have spaces between them. The error names the line.
func ReadReceivers(r io.Reader) (list []Receiver, err error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = len(header)
	first, err := rows.Read()
	if err != nil || !slices.Equal(first, header) {
		return nil, errors.Join(fmt.Errorf("the first line must be %s", strings.Join(header, ",")), err)
	}
	for {
		row, err := rows.Read()
		line, _ := rows.FieldPos(0)
		switch {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		case len(list) == receiversMax:
			return nil, fmt.Errorf("line %d: there are more than %d webhooks", line, receiversMax)
		}
		one := Receiver{row[0], row[1], strings.Fields(row[2]), strings.Fields(row[3])}
		if err := one.check(list); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		list = append(list, one)
	}
}

func (r *Receiver) check(before []Receiver) error {
	plain := func(c rune) bool { return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') }
	switch {
	case r.Name == "" || len(r.Name) > nameMax || strings.ContainsFunc(r.Name, plain):
		return fmt.Errorf("the name %q is not 1 to %d characters of a-z, 0-9, - and _", r.Name, nameMax)
	case slices.ContainsFunc(before, func(other Receiver) bool { return other.Name == r.Name }):
		return fmt.Errorf("the name %q comes twice", r.Name)
	}
	for _, want := range r.Types {
		known := slices.ContainsFunc(Types, func(t string) bool { return matches(t, want) })
		if !known {
			return fmt.Errorf("there is no event %q; there are %s", want, strings.Join(Types, ", "))
		}
	}
	_, err := webhook.New(r.URL, true, r.Secrets...)
	return err
}

func (r *Receiver) host() string {
	u, err := url.Parse(r.URL)
	if err != nil { // check has parsed it
		return ""
	}
	return u.Host
}

// matches reports whether a type is the wanted one, or begins with it where that ends with a dot.
func matches(event, want string) bool {
	return event == want || strings.HasSuffix(want, ".") && strings.HasPrefix(event, want)
}

// wants reports whether the receiver gets events of a type.
func (r *Receiver) wants(event string) bool {
	return len(r.Types) == 0 ||
		slices.ContainsFunc(r.Types, func(want string) bool { return matches(event, want) })
}
