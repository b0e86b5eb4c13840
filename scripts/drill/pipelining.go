package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pipelineLength = 2000 // requests that are sent before their replies are read

// pipelining has connections send hot calls, and calls that need a goroutine, without awaiting the replies,
// and then as many connections that await them.
func pipelining(ctx context.Context, s *stack, _ *rand.Rand) error {
	anybody := s.servers[0].shopper(0) // without a token
	for _, attack := range []struct {
		path        string
		connections int
		right       answer
	}{{"/sale", 20, "200"}, {"/sale", 100, "200"}, {"/orders", 100, "401 INVALID_ACCESS_TOKEN"}} {
		s.note("%d connections, GET %s:", attack.connections, attack.path)
		f := flood{crowd: crowdOf(slices.Repeat([]*shopper{anybody}, attack.connections)),
			next: func(int, int) call { return call{method: "GET", path: attack.path} }}
		hostile := f
		hostile.pipelined = "GET " + attack.path + " HTTP/1.1\r\nHost: drill\r\n\r\n"
		f.right, hostile.right = []answer{attack.right}, []answer{attack.right[:len("200")]}
		lasting := s.lasting(2*time.Second, 5*time.Second)
		if err := s.contrast(func() (*tide, error) {
			return s.run(ctx, hostile, lasting, 0), nil
		}, func(rate float64) *tide { return s.run(ctx, f, lasting, rate) }); err != nil {
			return err
		}
	}
	return nil
}

// pipeline sends a request pipelineLength times over a connection of its own, and counts the statuses of the
// replies.
func pipeline(to *shopper, request string, answers map[answer]int) {
	c, err := net.Dial("tcp", to.Address)
	if err != nil {
		answers[noAnswer]++
		return
	}
	defer c.Close()
	if to.TLS != nil {
		c = tls.Client(c, to.TLS)
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // on a closed connection the next call fails
	go func() { _, _ = io.WriteString(c, strings.Repeat(request, pipelineLength)) }()
	replies := bufio.NewReaderSize(c, 64<<10)
	for range pipelineLength {
		a, err := readStatus(replies)
		if err != nil {
			answers[noAnswer]++
			return
		}
		answers[a]++
	}
}

// readStatus reads a reply, much faster than net/http does: the attacker must not be slower than the server.
func readStatus(replies *bufio.Reader) (answer, error) {
	line, err := replies.ReadSlice('\n')
	if err != nil || len(line) < len("HTTP/1.1 200") {
		return "", fmt.Errorf("no reply but %q: %w", line, err)
	}
	status, length := answer(line[len("HTTP/1.1 "):len("HTTP/1.1 200")]), 0
	for len(line) > len("\r\n") {
		if line, err = replies.ReadSlice('\n'); err != nil {
			return "", err
		}
		if size, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(size))); err != nil {
				return "", err
			}
		}
	}
	_, err = replies.Discard(length)
	return status, err
}
