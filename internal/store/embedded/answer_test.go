package embedded

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// command sends one command, of words without blanks, and returns the answer: a status, an error or a
// number as its line, a bulk string as its text, an array as its last element.
func command(store *Store, words string) (string, error) {
	conn, err := net.DialTimeout(store.Network, store.Address, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	reader := bufio.NewReader(conn)
	if store.Password != "" {
		if status, err := exchange(conn, reader, "AUTH "+store.Password); status != "+OK" {
			return "", fmt.Errorf("AUTH answered %q, %w", status, err)
		}
	}
	return exchange(conn, reader, words)
}

func exchange(conn net.Conn, reader *bufio.Reader, words string) (string, error) {
	fields := strings.Fields(words)
	fmt.Fprintf(conn, "*%d\r\n", len(fields))
	for _, field := range fields {
		fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(field), field)
	}
	return answer(reader)
}

func answer(reader *bufio.Reader) (string, error) {
	line, err := reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '$':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return line, err
		}
		text := make([]byte, n+len("\r\n"))
		_, err = io.ReadFull(reader, text)
		return string(text[:n]), err
	case '*':
		n, err := strconv.Atoi(line[1:])
		last := line
		for range n {
			if last, err = answer(reader); err != nil {
				break
			}
		}
		return last, err
	default:
		return line, nil
	}
}

func TestAnswers(t *testing.T) {
	for reply, want := range map[string]bool{
		"+PONG\r\n": true,
		"-LOADING Redis is loading the dataset in memory\r\n": false,
		"+PONG":                   false,
		"":                        false,
		strings.Repeat("x", 8192): false,
	} {
		socket := filepath.Join(shortFolder(t), "s")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan string)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				served <- err.Error()
				return
			}
			defer conn.Close()
			ask := make([]byte, len("*1\r\n$4\r\nPING\r\n"))
			io.ReadFull(conn, ask)
			io.WriteString(conn, reply)
			served <- string(ask)
		}()
		if got := answers(socket); got != want {
			t.Errorf("a server that replies %.20q answers: %v, want %v", reply, got, want)
		}
		if ask := <-served; ask != "*1\r\n$4\r\nPING\r\n" {
			t.Errorf("server was asked %q", ask)
		}
		listener.Close()
		if answers(socket) {
			t.Error("a server that is gone answers")
		}
	}
}
