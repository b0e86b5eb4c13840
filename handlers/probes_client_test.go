package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// talkLimit is longer than the server waits for the rest of a request: its silent close then tells itself
// from a reply.
const talkLimit = 3 * listener.RequestTimeout

// heardReply is one reply as net/http reads it.
type heardReply struct {
	*http.Response
	body string
}

// conversation is all that a connection answered until it was closed.
type conversation struct {
	replies []heardReply
	raw     bytes.Buffer
	err     error // nil for a close after a whole reply
}

// dialProbe connects for as long as any probe takes.
func dialProbe(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close() })
	testkit.Must(t, c.SetDeadline(time.Now().Add(talkLimit)))
	return c.(*net.TCPConn)
}

// talk sends first on a new connection, then only when a 100 has come or a reply that keeps the connection,
// and reads until the server closes.
func talk(t *testing.T, address, first, then string) *conversation {
	t.Helper()
	c := dialProbe(t, address)
	defer c.Close()
	go io.WriteString(c, first) // fails where the server closes before it has read all
	method, _, _ := strings.Cut(first, " ")
	return listen(c, method, then)
}

// listen reads the replies to a request of this method and to what follows it, until the server closes.
func listen(c *net.TCPConn, method, then string) *conversation {
	heard := &conversation{}
	replies := bufio.NewReader(io.TeeReader(c, &heard.raw))
	for {
		if _, err := replies.Peek(1); err != nil {
			if !errors.Is(err, io.EOF) && (!errors.Is(err, syscall.ECONNRESET) || len(heard.replies) == 0) {
				heard.err = err
			}
			return heard
		}
		r, err := http.ReadResponse(replies, &http.Request{Method: method})
		if err != nil {
			heard.err = err
			return heard
		}
		body, err := io.ReadAll(r.Body)
		heard.replies = append(heard.replies, heardReply{r, string(body)})
		if err != nil {
			heard.err = err
			return heard
		}
		if !r.Close && then != "" {
			go io.WriteString(c, then)
			then = ""
		}
		if r.StatusCode >= 200 {
			method = "GET" // only the first request of a probe is a HEAD
		}
	}
}

// check compares a conversation with the outcomes that are allowed.
func (heard *conversation) check(t *testing.T, want string) {
	t.Helper()
	if heard.err != nil {
		t.Errorf("%v; heard:\n%s", heard.err, heard.raw.Bytes())
	}
	var got []string
	for i, r := range heard.replies {
		got = append(got, r.name())
		if err := r.wellFormed(); err != nil {
			t.Errorf("reply %d: %v", i+1, err)
		}
	}
	if n := bytes.Count(heard.raw.Bytes(), []byte("\n")) - bytes.Count(heard.raw.Bytes(),
		[]byte("\r\n")); n > 0 {
		t.Errorf("%d lines end in a bare LF", n)
	}
	for outcome := range strings.SplitSeq(want, " or ") {
		if heard.matches(got, strings.Fields(outcome)) {
			return
		}
	}
	t.Errorf("heard %q, want %s; in full:\n%s", got, want, heard.raw.Bytes())
}

// matches reports whether the replies are the ones of an outcome, with only the last one announcing a
// close.
func (heard *conversation) matches(got, outcome []string) bool {
	want, end := outcome[:len(outcome)-1], outcome[len(outcome)-1]
	if end == "keep" {
		want = append(slices.Clone(want), "foods")
	}
	if len(got) != len(want) {
		return false
	}
	for i, r := range heard.replies {
		if got[i] != want[i] && want[i] != strconv.Itoa(r.StatusCode) || r.Close != (i == len(want)-1) {
			return false
		}
	}
	return len(want) > 0
}

// name is what probes call the reply. Of a reply to HEAD only the length can be compared.
func (r *heardReply) name() string {
	for _, a := range rawAnswers {
		before, after, open := strings.Cut(a.body, "…")
		same := strings.HasPrefix(r.body, before) && strings.HasSuffix(r.body,
			after) && (open || r.body == a.body)
		if r.Request.Method == http.MethodHead {
			same = r.body == "" && !open && r.ContentLength == int64(len(a.body))
		}
		if a.status == r.StatusCode && same {
			return a.name
		}
	}
	return strconv.Itoa(r.StatusCode)
}

// wellFormed checks what RFC 9110 and 9112 demand of any reply.
func (r *heardReply) wellFormed() error {
	_, hasLength := r.Header["Content-Length"]
	_, hasDate := r.Header["Date"]
	switch {
	case r.Proto != "HTTP/1.1": // 9112 2.3
		return fmt.Errorf("version %s", r.Proto)
	case r.StatusCode == 100 || r.StatusCode == 204:
		if hasLength || len(r.TransferEncoding) > 0 { // 9112 6.1 and 9110 8.6
			return fmt.Errorf("%d with a body or its length", r.StatusCode)
		}
	case hasLength && len(r.TransferEncoding) > 0: // 9112 6.2
		return errors.New("Content-Length and Transfer-Encoding")
	case r.Header.Get("Content-Type") != "application/json": // the contract
		return fmt.Errorf("Content-Type %q", r.Header.Get("Content-Type"))
	}
	switch {
	case r.StatusCode >= 200 && r.StatusCode < 500 && !hasDate: // 9110 6.6.1
		return fmt.Errorf("%d without Date", r.StatusCode)
	case r.StatusCode == 405 && r.Header.Get("Allow") == "": // 9110 15.5.6
		return errors.New("405 without Allow")
	case r.StatusCode >= 400 && r.Request.Method != http.MethodHead && !strings.HasPrefix(r.body,
		`{"code":"`):
		return fmt.Errorf("error body %q", r.body)
	}
	return nil
}
