package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/child"
)

// benchSecret signs the tokens of servers that bench starts: those of one sale must share it.
const benchSecret = "only for sales that end with the comparison"

// readyTimeout is how long one question whether a server is ready may take; the next one follows.
const readyTimeout = 2 * time.Second

// target is a side that serves.
type target struct {
	servers []string // host:port
	roots   []int    // processes whose trees serve
	daemons []*daemon
}

// start starts the side's processes, all new, with their files in the folder. A foreign side runs already.
func (s *side) start(ctx context.Context, folder, product string, catalogue catalog.Config) (*target, error) {
	if s.foreign() {
		return &target{servers: s.servers, roots: s.pids}, nil
	}
	t := &target{}
	var redis string
	if s.store != "" && s.store != storeOwn {
		store, address, err := startStore(ctx, s.store, folder)
		if err != nil {
			return nil, err
		}
		t.daemons, redis = append(t.daemons, store), address
	}
	for i := range s.count {
		if err := t.serve(ctx, s, filepath.Join(folder, "data"+strconv.Itoa(i)), product, redis, catalogue); err != nil {
			t.stop()
			return nil, err
		}
	}
	for _, d := range t.daemons {
		t.roots = append(t.roots, d.pid())
	}
	return t, nil
}

// serve starts one server, with its data and its log in the folder.
func (t *target) serve(ctx context.Context, s *side, folder, product, redis string, catalogue catalog.Config) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("cannot make folder: %w", err)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	args := []string{"-app-port", strconv.Itoa(port), "-workers", strconv.Itoa(runtime.NumCPU()),
		"-users", strconv.Itoa(catalogue.Users), "-foods", strconv.Itoa(catalogue.Foods), "-stock", strconv.Itoa(catalogue.Stock)}
	program := s.program
	if program == floorProgram {
		program, args = "/proc/self/exe", append([]string{floorProgram}, args...)
	} else {
		args = append(args, "-data", folder)
		if redis != "" {
			args = append(args, "-redis", redis)
		}
	}
	if program == productProgram {
		program = product
	}
	cmd := exec.Command(program, append(args, s.flags...)...)
	// Nothing else of bench's environment: a setting there would count for all sides, unseen.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"ROOT_PASSWORD=" + catalogue.RootPassword, "TOKEN_SECRET=" + benchSecret}
	cmd.Env = append(cmd.Env, s.env...)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	d, err := startDaemon(ctx, "server", cmd, child.Start, folder, func() bool { return ready(ctx, address) })
	if err != nil {
		return fmt.Errorf("side %q: %w", s.text, err)
	}
	t.servers, t.daemons = append(t.servers, address), append(t.daemons, d)
	return nil
}

// ready asks a server whether it can serve the sale.
func ready(ctx context.Context, address string) bool {
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, Timeout: readyTimeout}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// stop ends what was started, the store last.
func (t *target) stop() {
	for i := len(t.daemons) - 1; i >= 0; i-- {
		t.daemons[i].stop()
	}
}

// buildProduct builds this repository's server into the folder and returns its path.
func buildProduct(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "flashsale")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "flashsale")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the product (run bench within its repository): %w: %s", err, bytes.TrimSpace(output))
	}
	return path, nil
}
