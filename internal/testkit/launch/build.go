package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
)

// builds are the programs that this process has built, by source and flags.
var builds struct {
	sync.Mutex
	folder string
	done   map[string]func() (string, error)
}

// Build builds a package of this module, such as "flashsale/scripts/bench", and returns the path of the
// program, which has the last part of that name. It builds each program once per process, under the race
// detector if this process is, and removes it when the process ends. flags go to "go build".
func Build(ctx context.Context, source string, flags ...string) (string, error) {
	key := source + " " + strings.Join(flags, " ")
	builds.Lock()
	once, known := builds.done[key]
	if !known {
		if builds.done == nil {
			builds.done = map[string]func() (string, error){}
		}
		folder := fmt.Sprint(len(builds.done))
		once = sync.OnceValues(func() (string, error) { return build(ctx, folder, source, flags) })
		builds.done[key] = once
	}
	builds.Unlock()
	return once()
}

func build(ctx context.Context, folder, source string, flags []string) (string, error) {
	top, err := buildFolder()
	if err != nil {
		return "", err
	}
	target := filepath.Join(top, folder, path.Base(source))
	args := append([]string{"build", fmt.Sprintf("-race=%v", testkit.Race), "-o", target}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, source)...)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err = child.Start(cmd, syscall.SIGKILL); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w; run it inside of the module\n%s", source, err, output.String())
	}
	return target, nil
}

func buildFolder() (string, error) {
	builds.Lock()
	defer builds.Unlock()
	if builds.folder == "" {
		var err error
		if builds.folder, err = LastingFolder("built"); err != nil {
			return "", err
		}
	}
	return builds.folder, nil
}

// lives keep the folders of LastingFolder; the end of this process closes them.
var lives struct {
	sync.Mutex
	pipes []io.Closer
}

// LastingFolder makes a folder that lasts until this process ends, in whatever way: no test knows that it is
// the last one. A shell waits for the end of its standard input, which only this process holds open, and
// removes the folder.
func LastingFolder(name string) (string, error) {
	folder, err := os.MkdirTemp("", name)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", `read -r line; rm -rf -- "$0"`, folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not end it
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep folder %s: %w", folder, err)
	}
	lives.Lock()
	defer lives.Unlock()
	lives.pipes = append(lives.pipes, life)
	return folder, nil
}
