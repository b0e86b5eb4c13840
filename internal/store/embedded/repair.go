package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const appendManifest = appendFolder + "/appendonly.aof.manifest"

// damage is a damaged end of an append-only file.
type damage struct {
	file  string // path
	whole int64  // bytes up to the last whole command or transaction
	tail  []byte // the bytes after them
}

// repair cuts the append-only file back to its last whole transaction, with the tool that comes with the
// server, and keeps the end that it cuts off. It does so only if that end is an unfinished write: no client
// got an answer to it. Any other damage is an error: answered orders may stand behind it.
func (s *server) repair(ctx context.Context) error {
	d, err := s.examine(ctx)
	if err != nil {
		return err
	}
	if !unfinished(d.tail) {
		return fmt.Errorf("%s is damaged at byte %d, and not by an unfinished write: its other %d bytes hold "+
			"orders that were answered; restore a copy of the folder %s",
			d.file, d.whole, len(d.tail), s.folder.Path())
	}
	kept, err := s.keep(d.tail)
	if err != nil {
		return fmt.Errorf("cannot keep the end of the append-only file: %w", err)
	}
	if output, err := s.check(ctx, "--fix"); err != nil {
		return fmt.Errorf("cannot repair the append-only file: %w: %s", err, bytes.TrimSpace(output))
	}
	slog.Warn("the append-only file ended in an unfinished write; that write, which was not answered, is "+
		"undone",
		"store", s.name, "file", d.file, "bytes", len(d.tail), "kept_in", kept)
	return nil
}

// keep writes the end that is cut off to a new file and returns its path.
func (s *server) keep(tail []byte) (path string, err error) {
	name := "cut-off-" + time.Now().UTC().Format("20060102T150405.000") + ".aof"
	file, err := s.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return "", err
	}
	_, err = file.Write(tail)
	return s.folder.File(name), errors.Join(err, file.Close())
}

// check runs redis-check-aof or valkey-check-aof.
func (s *server) check(ctx context.Context, options ...string) (output []byte, err error) {
	tool := filepath.Join(filepath.Dir(s.program), strings.Replace(s.name, "-server", "-check-aof", 1))
	cmd := exec.CommandContext(ctx, tool, append(options, s.folder.File(appendManifest))...)
	cmd.Stdin = strings.NewReader("y\n") // --fix asks
	return cmd.CombinedOutput()
}

// analyzed matches the tool's line about each file.
var analyzed = regexp.MustCompile(`AOF analyzed: filename=(\S+), size=(\d+), ok_up_to=(\d+)`)

// examine finds the damage in the last file that the tool has looked at.
func (s *server) examine(ctx context.Context) (d damage, err error) {
	output, _ := s.check(ctx) // its status only reports the damage
	found := analyzed.FindAllSubmatch(output, -1)
	if len(found) == 0 {
		return d, fmt.Errorf("cannot examine the append-only file: %s", bytes.TrimSpace(output))
	}
	last := found[len(found)-1]
	name := filepath.Join(appendFolder, string(last[1]))
	d.file = s.folder.File(name)
	if d.whole, err = strconv.ParseInt(string(last[3]), 10, 64); err != nil {
		return d, fmt.Errorf("cannot examine the append-only file: %w", err)
	}
	file, err := s.folder.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return d, fmt.Errorf("cannot examine the append-only file: %w", err)
	}
	defer file.Close()
	size, err := strconv.ParseInt(string(last[2]), 10, 64)
	if err == nil {
		d.tail, err = io.ReadAll(io.NewSectionReader(file, d.whole, size-d.whole))
	}
	if err != nil {
		return d, fmt.Errorf("cannot examine the append-only file: %w", err)
	}
	return d, nil
}

var (
	multi       = []byte("*1\r\n$5\r\nMULTI\r\n")
	execute     = []byte("\r\nEXEC\r\n")
	nextCommand = regexp.MustCompile(`\r\n\*\d+\r\n\$\d+\r\n`)
)

// unfinished reports whether the tail is the beginning of one write and nothing else: a transaction
// without its EXEC, or a part of a single command. An order is always a transaction.
func unfinished(tail []byte) bool {
	if rest, inside := bytes.CutPrefix(tail, multi); inside {
		return !bytes.Contains(rest, execute) && !bytes.Contains(rest, multi)
	}
	return !nextCommand.Match(tail)
}
