package compare

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/process"
)

// benchSecret signs the tokens of servers that bench starts: those of one sale must share it.
const benchSecret = "only for sales that end with the comparison"

// Target is a side that serves.
type Target struct {
	Servers []string // host:port
	Roots   []int    // processes that serve; their children count too
	daemons []*process.Server
}

// Start starts the side's processes, all new, with their files in the folder. A foreign side runs already.
func (s *Side) Start(ctx context.Context, folder, product string,
	catalogue catalog.Config) (*Target, error) {
	if s.foreign() {
		return &Target{Servers: s.servers, Roots: s.pids}, nil
	}
	t := &Target{}
	var redis string
	if s.store != "" && s.store != storeOwn {
		store, address, err := s.startStore(ctx, folder)
		if err != nil {
			return nil, err
		}
		t.daemons, redis = append(t.daemons, store), address
	}
	for i := range s.count {
		if err := t.serve(ctx, s, filepath.Join(folder, "data"+strconv.Itoa(i)), product, redis,
			catalogue); err != nil {
			t.Stop()
			return nil, err
		}
	}
	for _, d := range t.daemons {
		t.Roots = append(t.Roots, d.PID())
	}
	return t, nil
}

// startStore starts the side's Redis.
func (s *Side) startStore(ctx context.Context, folder string) (*process.Server, string, error) {
	appendfsync := ""
	if s.store == storeAlways || s.store == storeEverysec {
		appendfsync = string(s.store)
	}
	return process.StartRedis(ctx, folder, appendfsync, s.store == storeTCP)
}

// serve starts one server, with its data and its log in the folder.
func (t *Target) serve(ctx context.Context, s *Side, folder, product, redis string,
	catalogue catalog.Config) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("cannot make folder: %w", err)
	}
	port, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	args := []string{"-app-port", strconv.Itoa(port), "-workers", strconv.Itoa(runtime.NumCPU()),
		"-users", strconv.Itoa(catalogue.Users), "-foods", strconv.Itoa(catalogue.Foods), "-stock",
		strconv.Itoa(catalogue.Stock)}
	program := s.program
	if program == FloorProgram {
		program, args = "/proc/self/exe", append([]string{FloorProgram}, args...)
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
	d, err := process.StartHTTP(ctx, cmd, folder, address)
	if err != nil {
		return fmt.Errorf("side %q: %w", s.text, err)
	}
	t.Servers, t.daemons = append(t.Servers, address), append(t.daemons, d)
	return nil
}

// Stop ends what was started, the store last.
func (t *Target) Stop() {
	for i := len(t.daemons) - 1; i >= 0; i-- {
		t.daemons[i].Stop()
	}
}
