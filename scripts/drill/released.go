package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"flashsale/internal/testkit/launch"
)

var errUnreleased = errors.New("no version is released yet")

// buildReleased builds the server of the last release: the highest tag v* of the repository.
func buildReleased(ctx context.Context) (path string, err error) {
	run := func(command string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-euc", command, "sh"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("cannot build the last release: %w\n%s", err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	tag, err := run(`git tag --list 'v[0-9]*' --sort=-version:refname | head -n 1`)
	if err != nil {
		return "", err
	}
	if tag == "" {
		return "", errUnreleased
	}
	folder, err := launch.LastingFolder("released")
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "flashsale")
	_, err = run(`cd "$(git rev-parse --show-toplevel)"
		git archive --prefix=source/ "$1" | tar -x -C "$2"
		cd "$2/source"; go build -buildvcs=false -o "$3" .`, tag, folder, path)
	return path, err
}
