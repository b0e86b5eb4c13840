package compare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"flashsale/internal/catalog"
	"flashsale/internal/proc"
	"flashsale/internal/testkit/launch"
)

// A side with CHAT=n has n users of the conversation, in pairs, who are connected for pushes and send 100
// messages a second, by scripts/chat load.

const (
	chatSource = "flashsale/scripts/chat"
	chatRamp   = "1000" // connections a second; a server takes 2000
)

// chatFlags are the flags of a server with the conversation: speakers are faster than people.
var chatFlags = []string{"-chat", "-push-address", "127.0.0.1:0", "-room-pace", "0", "-limits", "off"}

// talk is a run of scripts/chat load; nil for a side without.
type talk struct{ run *launch.Process }

// startTalk starts the load and returns once all of its users are connected. They are the last ones of the
// catalogue; bench takes the first ones.
func (s *Side) startTalk(
	ctx context.Context, folder string, servers []string, c catalog.Config,
) (*talk, error) {
	if s.talkers == 0 {
		return nil, nil
	}
	path, err := launch.Build(ctx, chatSource)
	if err != nil {
		return nil, err
	}
	run, err := launch.Program{Path: path, Stdout: filepath.Join(folder, "chat.json"),
		Log: filepath.Join(folder, "chat.log"), Args: []string{"load", "-json", "-for", "0", "-addr",
			strings.Join(servers, ","), "-users", strconv.Itoa(s.talkers), "-ramp", chatRamp, "-first",
			strconv.Itoa(c.Users - s.talkers + 1)}}.Start()
	if err != nil {
		return nil, err
	}
	return &talk{run}, run.Await(ctx, "talk", 2*startMax, func() bool {
		text, _ := os.ReadFile(run.Log) // the file exists from the start on
		return strings.Contains(string(text), "are connected")
	})
}

// finish ends the load, which checks what it got.
func (t *talk) finish(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.run.Signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("the load of the conversation has ended: %w", err)
	}
	select {
	case <-t.run.Ended():
	case <-ctx.Done():
		return ctx.Err()
	}
	if code := t.run.State().ExitCode(); code != 0 {
		text, _ := os.ReadFile(t.run.Stdout) // without it the exit code must do
		return fmt.Errorf("the load of the conversation ended with %d: %s", code, text)
	}
	return nil
}

// kill ends the load of a trial that has failed.
func (t *talk) kill() {
	if t != nil {
		t.run.Kill()
	}
}

// holdsPushes reports whether a process is that of the websockets: it sells nothing.
func holdsPushes(pid int) bool {
	environment, _ := proc.Environ(pid) // of a process that has ended it is empty
	return slices.ContainsFunc(environment, func(line string) bool {
		return strings.HasPrefix(line, "FLASHSALE_WORKER=push/")
	})
}
