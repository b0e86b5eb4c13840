package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
)

const patience = 20 * time.Second // for what must come

// canned starts a canned server with one worker and returns its address.
func canned(t *testing.T, name string) string {
	t.Helper()
	return served(t, name+" -workers 1", "", catalog.Config{Users: 2000, Foods: 100, Stock: 1000}).Servers[0]
}

func connect(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// toTheEnd sends text and returns what comes until the server closes, with the time in Date left out.
func toTheEnd(t *testing.T, address, text string) string {
	t.Helper()
	conn := connect(t, address)
	write(t, conn, text)
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%q: %v after %q", text, err, got)
	}
	return regexp.MustCompile("Date: .{29}\r\n").ReplaceAllString(string(got), "Date\r\n")
}

const closes = "Connection: close\r\n"

// cannedRequests are the calls of the flow and of the start, with a place for one more header.
var cannedRequests = []string{
	"POST /login HTTP/1.1\r\nHost: h\r\n%sContent-Length: 4\r\n\r\nbody",
	"GET /foods?access_token=t HTTP/1.1\r\nHost: h\r\n%s\r\n",
	"GET /foods HTTP/1.1\r\nHost: h\r\nAccess-Token: t\r\n%sContent-Length: 2\r\n\r\n{}",
	"POST /carts HTTP/1.1\r\nHost: h\r\n%sContent-Length: 0\r\n\r\n",
	"PATCH /carts/x HTTP/1.1\r\nHost: h\r\ncontent-length: 4\r\n%s\r\nbody",
	"POST /orders HTTP/1.1\r\nHost: h\r\n%sContent-Length:4\r\n\r\nbody",
	"GET /readyz HTTP/1.1\r\nHost: h\r\n%s\r\n",
}

func TestKernelRepliesAsFloor(t *testing.T) {
	kernel, floor := canned(t, "kernel"), canned(t, "floor")
	all := ""
	for _, request := range cannedRequests {
		last := fmt.Sprintf(request, closes)
		if got, want := toTheEnd(t, kernel, last), toTheEnd(t, floor, last); got != want {
			t.Errorf("%q: the kernel side answers %q, the floor %q", last, got, want)
		}
		all += fmt.Sprintf(request, "")
	}
	all += fmt.Sprintf(cannedRequests[0], closes) // pipelined, in order
	if got, want := toTheEnd(t, kernel, all), toTheEnd(t, floor, all); got != want {
		t.Errorf("the kernel side answers %q, the floor %q", got, want)
	}
}

func TestKernelTakesRequestsInPieces(t *testing.T) {
	kernel := canned(t, "kernel")
	for _, request := range cannedRequests {
		conn := connect(t, kernel)
		replies := bufio.NewReader(conn)
		for range 2 { // the second one on the same connection
			for _, piece := range fmt.Sprintf(request, "") {
				write(t, conn, string(piece))
			}
			reply, err := http.ReadResponse(replies, nil)
			if err != nil {
				t.Fatalf("%q: %v", request, err)
			}
			if body, err := io.ReadAll(reply.Body); err != nil || reply.StatusCode/100 != 2 || reply.Close {
				t.Errorf("%q: status %d, body %q, %v", request, reply.StatusCode, body, err)
			}
		}
	}
}

func TestKernelEndsConnections(t *testing.T) {
	kernel := canned(t, "kernel")
	foods := toTheEnd(t, kernel, "GET /foods HTTP/1.1\r\n"+closes+"\r\n")
	const refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	const filler = "PATCH /carts/x HTTP/1.1\r\nX: "
	for text, want := range map[string]string{
		"GET /foods HTTP/1.0\r\n\r\n": foods,
		"GET /foods HTTP/1.1\r\nCONNECTION: Close \r\n\r\nGET /foods HTTP/1.1\r\n\r\n": foods,
		"POST /carts HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n":                   refused,
		"POST /carts HTTP/1.1\r\nContent-Length: x\r\n\r\n":                            refused,
		"POST /carts HTTP/1.1\r\nContent-Length: \r\n\r\n":                             refused,
		"POST /carts HTTP/1.1\r\nContent-Length: 65536\r\n\r\n":                        refused,
		"POST /carts HTTP/1.1\r\nContent-Length: 1234567890\r\n\r\n":                   refused,
		"what is this?\r\n": refused,
		"what?\r\n":         refused,
		"\r\n":              refused,
		filler + strings.Repeat("x", 64<<10-len(filler)):                                           refused,
		"GET /foods HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\nX: " + closes + "\r\n{}": foods,
	} {
		if got := toTheEnd(t, kernel, text); got != want {
			t.Errorf("%.60q: %.100q, want %.100q", text, got, want)
		}
	}
}

// A client may send all its requests and their end before it reads.
func TestKernelAnswersHalfClosedClient(t *testing.T) {
	const n = 3000 // more than one read takes, and more replies than the sockets' buffers hold
	conn := connect(t, canned(t, "kernel"))
	write(t, conn, strings.Repeat("GET /foods HTTP/1.1\r\nHost: h\r\n\r\n", n))
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if replies := bytes.Count(got, []byte("HTTP/1.1 200 OK")); err != nil || replies != n {
		t.Errorf("%d replies, want %d; %v", replies, n, err)
	}
}

// Clients that go away, in mid-request or with replies unread, leave nothing behind for the next ones.
func TestKernelOutlivesClients(t *testing.T) {
	kernel := canned(t, "kernel")
	want := toTheEnd(t, kernel, fmt.Sprintf(cannedRequests[0], closes))
	for i := range 60 {
		conn := connect(t, kernel)
		write(t, conn, strings.Repeat("GET /foods HTTP/1.1\r\n\r\n", i*20)+"POST /log")
		if i%2 == 1 {
			if err := conn.SetLinger(0); err != nil { // a reset
				t.Fatal(err)
			}
		}
		conn.Close()
		if got := toTheEnd(t, kernel, fmt.Sprintf(cannedRequests[0], closes)); got != want {
			t.Fatalf("after client %d: %q", i, got)
		}
	}
}

// A client that does not read is not read from, and others are served meanwhile.
func TestKernelHoldsBackClientThatDoesNotRead(t *testing.T) {
	kernel := canned(t, "kernel")
	conn := connect(t, kernel)
	request := "GET /foods HTTP/1.1\r\nX: " + strings.Repeat("x", 1000) + "\r\n\r\n"
	const most = 100_000 // many times what the sockets' buffers hold
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	sent, err := io.WriteString(conn, strings.Repeat(request, most))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the server took %d bytes of requests without a reply being read, %v", sent, err)
	}
	toTheEnd(t, kernel, fmt.Sprintf(cannedRequests[0], closes))
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if replies := bytes.Count(got, []byte("HTTP/1.1 200 OK")); err != nil || replies != sent/len(request) {
		t.Errorf("%d replies to %d bytes, %v", replies, sent, err)
	}
}
