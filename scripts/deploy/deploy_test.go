// Package deploy holds the files to install a sale and the guide to them. Its tests check the files with the
// programs that read them and carry out the guide, block by block.
package deploy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// Bounds on what hangs: commandMax on a block of the guide. The longest one moves 11,000 slots, one by one.
const (
	patience   = testkit.Patience
	commandMax = 20 * patience
)

func TestMain(m *testing.M) {
	testkit.AtOnce(6)
	os.Exit(m.Run())
}

// start runs a program with PATH and env as its whole environment. It ends with the test at the latest.
func start(t *testing.T, env []string, name string, args ...string) *launch.Process {
	t.Helper()
	return launch.Program{Path: name, Args: args, Env: env}.Launch(t)
}

var networks atomic.Int64

// newNetwork returns the first three bytes of loopback addresses that no other test uses, as "127.7.1.":
// each of its addresses has all ports free.
func newNetwork() string {
	pid := int64(os.Getpid())
	return fmt.Sprintf("127.%d.%d.", 1+pid%250, (pid/250+networks.Add(1))%256)
}

// changed returns the path of a copy of the file with texts replaced, given in pairs.
func changed(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	text := testkit.ReadFile(t, file)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s has no %q", file, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	path := filepath.Join(t.TempDir(), file)
	testkit.WriteFile(t, path, text)
	return path
}

// exchange sends raw bytes to an address and returns all that comes back until the connection is closed,
// or until the reply is whole when it stays open.
func exchange(t *testing.T, address, raw string) (reply string, closed bool) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	testkit.Must(t, err)
	defer conn.Close()
	return exchangeOver(t, conn, raw)
}

// exchangeOver is exchange over a connection that is there.
func exchangeOver(t *testing.T, conn net.Conn, raw string) (reply string, closed bool) {
	t.Helper()
	testkit.Must(t, conn.SetDeadline(time.Now().Add(patience)))
	if _, err := conn.Write([]byte(raw)); err != nil {
		return "", true // it was closed before
	}
	var all bytes.Buffer
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		all.Write(buffer[:n])
		if err != nil { // also a reset: what came before it counts
			return all.String(), true
		}
		if whole(all.String()) && !strings.Contains(strings.ToLower(all.String()), "connection: close") {
			return all.String(), false
		}
	}
}

// whole reports whether a reply with a Content-Length has all of its body.
func whole(reply string) bool {
	head, body, found := strings.Cut(reply, "\r\n\r\n")
	length := -1
	for line := range strings.Lines(strings.ToLower(head)) {
		_, _ = fmt.Sscanf(line, "content-length: %d", &length)
	}
	return found && length >= 0 && len(body) >= length
}

// status is the number in the first line of a reply.
func status(reply string) (code int) {
	_, _ = fmt.Sscanf(reply, "HTTP/1.1 %d", &code)
	return code
}

// get returns the status, 0 when there is no answer.
func get(client *http.Client, url string) int {
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// run carries out a command in a folder, with env added to the environment, and returns what it writes.
func run(t *testing.T, folder string, env []string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // for what it left behind with its output open
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}
