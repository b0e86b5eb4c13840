package compare

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

const (
	startMax     = time.Minute // until a server is ready: one with ten million users reads them first
	readyTimeout = 2 * time.Second
)

// benchSecret signs the tokens of servers that bench starts: all servers of a sale share one secret.
const benchSecret = "only for sales that end with the comparison"

// Target is a side that serves.
type Target struct {
	Servers []string // host:port
	Roots   []int    // processes that serve; their children count too
	daemons []*launch.Process
}

// Start starts the side's processes, all new, with their files in the folder.
func (s *Side) Start(ctx context.Context, folder, product string,
	catalogue catalog.Config) (*Target, error) {
	t := &Target{}
	var redis string
	if s.store != "" && s.store != storeOwn {
		store, err := s.startStore(ctx, folder)
		if err != nil {
			return nil, err
		}
		t.daemons, redis = append(t.daemons, store.Process), store.Socket
	}
	for i := range s.servers {
		if err := t.serve(ctx, s, filepath.Join(folder, "data"+strconv.Itoa(i)), product, redis,
			catalogue); err != nil {
			t.Stop()
			return nil, err
		}
	}
	for _, d := range t.daemons {
		t.Roots = append(t.Roots, d.Pid())
	}
	return t, nil
}

// startStore starts the side's Redis, in the way in which the product starts its own.
func (s *Side) startStore(ctx context.Context, folder string) (*launch.Redis, error) {
	var args []string
	if s.store == storeAlways {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	r := launch.NewRedis(folder, args...)
	r.Program.Batch = true
	return r, r.Start(ctx)
}

// serve starts one server, with its data and its log in the folder.
func (t *Target) serve(ctx context.Context, s *Side, folder, product, redis string,
	catalogue catalog.Config) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("cannot make folder: %w", err)
	}
	port, err := launch.FreePort()
	if err != nil {
		return err
	}
	args := []string{"-app-port", strconv.Itoa(port), "-workers", strconv.Itoa(runtime.NumCPU()),
		"-users", strconv.Itoa(catalogue.Users), "-foods", strconv.Itoa(catalogue.Foods), "-stock",
		strconv.Itoa(catalogue.Stock)}
	program := s.program
	if !s.sells() {
		program, args = "/proc/self/exe", append([]string{s.program}, args...)
	} else {
		args = append(args, "-data", folder)
		if redis != "" {
			args = append(args, "-redis", redis)
		}
	}
	if program == productProgram {
		program = product
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	d, err := launch.Program{
		Path: program, Args: append(args, s.flags...), Log: filepath.Join(folder, "server.log"),
		// Nothing else of bench's environment: its settings would affect all sides unnoticed.
		Env: append([]string{"HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
			"ROOT_PASSWORD=" + catalogue.RootPassword, "TOKEN_SECRET=" + benchSecret}, s.env...),
	}.Start()
	if err != nil {
		return fmt.Errorf("side %q: %w", s.text, err)
	}
	ready := client.Client{Address: address, Timeout: readyTimeout, NewConnections: true}
	if err := d.Await(ctx, "200 of /readyz", startMax, ready.Ready); err != nil {
		d.Stop()
		return fmt.Errorf("side %q: %w", s.text, err)
	}
	t.Servers, t.daemons = append(t.Servers, address), append(t.daemons, d)
	return nil
}

// Stop ends the servers, then the store.
func (t *Target) Stop() {
	for i := len(t.daemons) - 1; i >= 0; i-- {
		t.daemons[i].Stop()
	}
}
