package embedded

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const (
	pingLimit    = time.Second
	logTailLines = 5
	logTailBytes = 4096
)

// answers reports whether the server behind the unix socket serves commands. One that still reads its
// data accepts connections already, but answers -LOADING.
func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, pingLimit)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(pingLimit)); err != nil {
		return false
	}
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n"); err != nil {
		return false
	}
	// The reader's buffer, 4 KiB, bounds the line.
	line, err := bufio.NewReader(conn).ReadSlice('\n')
	return err == nil && string(line) == "+PONG\r\n"
}

// lastLines returns the end of the log as one line, without the part before the offset start.
func lastLines(path string, start int64) string {
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err.Error()
	}
	start = max(start, info.Size()-logTailBytes)
	text, err := io.ReadAll(io.NewSectionReader(log, start, logTailBytes))
	if err != nil {
		return err.Error()
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	lines = lines[max(0, len(lines)-logTailLines):]
	return strings.Join(lines, " | ")
}
