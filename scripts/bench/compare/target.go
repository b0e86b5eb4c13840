package compare

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
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
	stores  []*launch.Redis // that bench has started
}

// Start starts the side's processes, all new, with their files in the folder.
func (s *Side) Start(ctx context.Context, folder, product string,
	catalogue catalog.Config) (*Target, error) {
	t := &Target{}
	store, err := t.startStore(ctx, s, folder)
	for i := 0; i < s.servers && err == nil; i++ {
		err = t.serve(ctx, s, filepath.Join(folder, "data"+strconv.Itoa(i)), product, store, catalogue)
	}
	if err != nil {
		t.Stop()
		return nil, err
	}
	for _, d := range t.daemons {
		t.Roots = append(t.Roots, d.Pid())
	}
	return t, nil
}

// startStore starts the side's Redis, in the way in which the product starts its own, and returns the flags
// for it. A single one without replicas is on a unix socket, others on ports.
func (t *Target) startStore(ctx context.Context, s *Side, folder string) (flags []string, err error) {
	var args, addresses []string
	if s.store == storeAlways {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	if s.replicas > 0 { // what -ack replica demands, and a replica joins at once
		args = append(args, "--appendonly", "yes", "--min-replicas-to-write", "1",
			"--repl-diskless-sync-delay", "0")
	}
	switch {
	case s.store == "" || s.store == storeOwn:
		return nil, nil
	case s.masters > 0:
		c, err := launch.StartCluster(ctx, filepath.Join(folder, "cluster"), "redis-server", s.masters, s.replicas,
			args...)
		for _, n := range c.Nodes {
			t.daemons, t.stores = append(t.daemons, n.Process), append(t.stores, n.Redis)
		}
		return []string{"-redis-cluster", c.Seeds()}, err
	case s.nodes == 1 && s.replicas == 0:
		r, err := t.startRedis(ctx, folder, args)
		return []string{"-redis", r.Socket}, err
	}
	for range s.nodes {
		address, err := t.startOnPort(ctx, folder, args)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	for range s.replicas {
		host, port, _ := net.SplitHostPort(addresses[0])
		if _, err := t.startOnPort(ctx, folder, append(args, "--replicaof", host, port)); err != nil {
			return nil, err
		}
	}
	return []string{"-redis", strings.Join(addresses, ",")}, t.awaitReplicas(ctx)
}

// startOnPort starts a Redis on a port, with its files in a folder of its own.
func (t *Target) startOnPort(ctx context.Context, folder string, args []string) (address string, err error) {
	port, err := launch.FreePort()
	if err != nil {
		return "", err
	}
	number := strconv.Itoa(port)
	own := filepath.Join(folder, "redis"+number)
	if err := os.Mkdir(own, 0o700); err != nil {
		return "", fmt.Errorf("cannot make folder: %w", err)
	}
	_, err = t.startRedis(ctx, own, append(args, "--bind", "127.0.0.1", "--port", number))
	return net.JoinHostPort("127.0.0.1", number), err
}

func (t *Target) startRedis(ctx context.Context, folder string, args []string) (*launch.Redis, error) {
	r := launch.NewRedis(folder, args...)
	r.Program.Batch = true
	err := r.Start(ctx)
	if r.Process != nil {
		t.daemons, t.stores = append(t.daemons, r.Process), append(t.stores, r)
	}
	return r, err
}

// awaitReplicas waits until all replicas are in step.
func (t *Target) awaitReplicas(ctx context.Context) error {
	return testkit.Await(ctx, "replicas in step", startMax, func() bool {
		return !slices.ContainsFunc(t.stores, func(r *launch.Redis) bool {
			info, err := launch.AskRedis(r.Socket, readyTimeout, "INFO", "replication")
			return err != nil || strings.Contains(info, "master_link_status:down")
		})
	})
}

// scripts is how many scripts the side's Redis have run.
func (t *Target) scripts() (runs int, err error) {
	for _, r := range t.stores {
		stats, err := launch.AskRedis(r.Socket, readyTimeout, "INFO", "commandstats")
		if err != nil {
			return 0, err
		}
		if _, evalsha, found := strings.Cut(stats, "cmdstat_evalsha:calls="); found {
			count, _, _ := strings.Cut(evalsha, ",")
			n, err := strconv.Atoi(count)
			if err != nil {
				return 0, fmt.Errorf("cannot read the scripts of Redis: %w", err)
			}
			runs += n
		}
	}
	return runs, nil
}

// serve starts one server, with its data and its log in the folder.
func (t *Target) serve(ctx context.Context, s *Side, folder, product string, store []string,
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
		args = append(append(args, "-data", folder), store...)
	}
	if s.talkers > 0 {
		args = append(args, chatFlags...)
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
