package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzTextField holds the search in a reply's text against encoding/json: in a flat object with each name once they find
// the same.
func FuzzTextField(f *testing.F) {
	for _, body := range []string{
		`{"id":"order-7"}`, `{"user_id":3,"username":"id","id":"x"}`, `{ "id" : "a" }`, `{"x":"\"id\":\"no\"","id":"yes"}`,
		`{"id":"a\u0062"}`, `{"xid":"a","id":"b"}`, `{"id":null}`, `{"id":7,"a":"id"}`, `[]`, `{"a":{"id":"in"}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := textField(body, "id")
		if !isFlatObject(body) {
			return // such a reply is wrong, but may be read
		}
		var object map[string]any
		if err := json.Unmarshal(body, &object); err != nil {
			return
		}
		if want, _ := object["id"].(string); got != want {
			t.Errorf("%q: %q, encoding/json finds %q", body, got, want)
		}
	})
}

// isFlatObject says that the text begins with an object of UTF-8 that holds no other one, no list and no name twice.
func isFlatObject(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') || !utf8.Valid(text) {
		return false
	}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil || seen[name.(string)] {
			return false
		}
		seen[name.(string)] = true
		value, err := decoder.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return false
		}
	}
	return true
}

// FuzzOrders holds the reader of /admin/orders against encoding/json: it gives all orders of a good list, and none of what
// is not a list is taken for a whole one.
func FuzzOrders(f *testing.F) {
	for _, body := range []string{
		`[]`, `[{"id":"a-1","user_id":1,"items":[{"food_id":2,"count":1}],"total":10}]`, `[{}`, `[{},]`, `{}`, `[null]`,
		`[1]`, ``, `[{"user_id":-1}]`, `[{"id":"a"}{"id":"b"}]`, `[{"id":"a"}:{"id":"b"}]`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := []order{}
		err := decodeOrders(bytes.NewReader(body), func(o order) { got = append(got, o) })
		want := []order{}
		wantErr := json.NewDecoder(bytes.NewReader(body)).Decode(&want)
		isList := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
		if good := wantErr == nil && isList; good != (err == nil) || good && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; encoding/json finds %+v, %v", body, got, err, want, wantErr)
		}
	})
}

// FuzzStat reads any text as a line of the process table.
func FuzzStat(f *testing.F) {
	for _, text := range []string{
		"45 (redis-server) S 12 7 7 0 -1 4194624 160606 0 0 0 4915 1353 30 4 20 0",
		"45 (odd (name) 9) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "() S", ")(",
		"1 (a) S 99999999999999999999 2 3 4 5 6 7 8 9 10 11 12 13 14",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseStat(text)
		if err == nil && !bytes.Contains(text, []byte("("+p.name+")")) {
			t.Errorf("%q is process %+v", text, p)
		}
	})
}

// FuzzOptions reads any words as arguments, one a line: what is refused is bad usage in one line, what is accepted is within
// the limits, and root's password is not shown.
func FuzzOptions(f *testing.F) {
	for _, words := range []string{
		"", "-h", "-addr\na:1,[::1]:2", "-addr=a:65536", "-concurrency=1,2\n-compare=floor|product",
		"-compare=A=b STORE=tcp product -workers 1|floor", "-compare=|", "-rate=1e9", "-rate=NaN", "-ramp",
		"-duration=1h\n-rate=5",
		"-seed=18446744073709551615", "-orders=0", "-timeout=-1s", "-vs-url=a:1\n-vs-pids=1\n-compare=floor", "-retry\n-audit-only"} {
		f.Add(words)
	}
	const secret = "hushhushhush"
	f.Fuzz(func(t *testing.T, words string) {
		if strings.Contains(words, "\r") {
			return // package flag repeats the name of an unknown flag as it is
		}
		opt, err := parseOptions(append([]string{"-root-password", secret}, strings.Split(words, "\n")...), io.Discard)
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		if err != nil {
			if !errors.Is(err, errUsage) || strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: error %q", words, err)
			}
			return
		}
		if err := opt.check(); err != nil {
			t.Errorf("%q: accepted, %v", words, err)
		}
		if len(opt.servers) == 0 || len(opt.servers) > serversMax || opt.concurrency < 1 || opt.concurrency > concurrencyMax || len(opt.sides) > sidesMax+1 {
			t.Errorf("%q: %+v", words, opt)
		}
		for _, s := range opt.sides {
			if s.program == "" && len(s.servers) == 0 {
				t.Errorf("%q: side %+v", words, s)
			}
		}
	})
}
