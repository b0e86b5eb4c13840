package embedded

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
)

// command sends one command, of words without blanks. It returns the reply as a text, of a list its last
// element.
func command(store *Store, words string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	c, err := radix.Dialer{AuthPass: store.Password}.Dial(ctx, store.Network, store.Address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	fields := strings.Fields(words)
	var reply any
	err = c.Do(ctx, radix.Cmd(&reply, fields[0], fields[1:]...))
	if list, ok := reply.([]any); ok {
		reply = list[len(list)-1]
	}
	if text, ok := reply.([]byte); ok {
		return string(text), err
	}
	return fmt.Sprint(reply), err
}

func TestAnswers(t *testing.T) {
	for reply, want := range map[string]bool{
		"+PONG\r\n": true,
		"-LOADING Redis is loading the dataset in memory\r\n": false,
		"+PONG":                   false,
		"":                        false,
		strings.Repeat("x", 8192): false,
	} {
		socket := filepath.Join(testkit.Folder(t), "s")
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
