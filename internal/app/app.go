// Package app puts the program together from the other packages. The binary has several commands. The server
// runs as two kinds of processes: the supervisor starts the store, reads the catalogue, opens the sale and
// starts the workers; the workers share its port and answer requests. rooms.go lists the rooms, the features
// beside the sale.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"flashsale/internal/config"
	"flashsale/internal/supervise"
	"flashsale/internal/version"
)

// Main must begin on the main thread: see config.ClearEnvironment.
func init() { runtime.LockOSThread() }

// A command is one thing the program can do; it returns the exit code.
type command func(ctx context.Context, p *program, args []string) (code int)

// commands by the first argument. With any other first argument, or none, the program is the server.
var commands = map[string]command{
	"account":     runAccount,
	"audit":       audit,
	"check-store": checkStore,
	hashCommand:   hashPasswords,
	"operator":    runOperator,
	"sale":        runSale,
	"status":      showStatus,
	"unlock":      unlock,
	"-version":    printVersion,
	"--version":   printVersion,
}

// usageWrong is the exit code for a command that there is not.
const usageWrong = 2

// commandNames are the commands that people type.
func commandNames() (names []string) {
	for name := range commands {
		if name[0] != '-' && name != hashCommand {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// program is this run of the program.
type program struct {
	stdout, stderr io.Writer
	log            *logWriter // of a worker, to stderr; nil in other processes
	exposed        error      // why other programs can see the secrets of the environment, nil if they cannot
}

// Main runs the command that args name, the program's own name first, and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	p := &program{stdout: stdout, stderr: stderr, exposed: config.ClearEnvironment()}
	runtime.UnlockOSThread()
	if len(args) > 1 {
		if run, found := commands[args[1]]; found {
			return run(ctx, p, args[2:])
		}
		if typed := args[1]; typed != "" && typed[0] != '-' {
			fmt.Fprintf(stderr, "flashsale: %q is no command; %s (flashsale -h)\n", typed,
				config.Suggest(typed, commandNames()))
			return usageWrong
		}
	}
	return serve(ctx, p, args[1:])
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM. A second signal kills the
// process.
func interruptible(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func printVersion(_ context.Context, p *program, _ []string) (code int) {
	fmt.Fprintln(p.stdout, version.String())
	return 0
}

// serve runs the server.
func serve(ctx context.Context, p *program, args []string) (code int) {
	err := runRole(ctx, p, args)
	if p.log != nil {
		p.log.flush()
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(p.stderr, "flashsale:", err)
		return 1
	}
	return 0
}

// runRole runs this process as the supervisor, or as a worker if a supervisor has started it.
func runRole(ctx context.Context, p *program, args []string) error {
	signal.Ignore(syscall.SIGPIPE) // the sale must go on when the program that reads the log ends
	worker, err := supervise.Inherited()
	if err != nil {
		return err
	}
	cfg, err := p.settings(args, worker)
	switch {
	case err != nil:
		return err
	case worker == nil:
		return runSupervisor(ctx, cfg, p.stdout)
	case worker.Role == saleRole:
		return p.runWorker(ctx, cfg, worker)
	case worker.Role == pushRole:
		return p.runPush(ctx, cfg, worker)
	}
	return fmt.Errorf("this program has no role %q: its supervisor is of another version", worker.Role)
}

// settings reads the settings and sets up the log.
func (p *program) settings(args []string, worker *supervise.Worker) (*config.Config, error) {
	cfg, err := config.Parse(args, p.stdout)
	if err != nil {
		return nil, err
	}
	p.setLog(cfg, worker)
	return cfg, nil
}

func (p *program) setLog(cfg *config.Config, worker *supervise.Worker) {
	out := p.stderr
	if worker != nil { // its event loop logs and must not block
		p.log = newLogWriter(p.stderr)
		out = p.log
	}
	slog.SetDefault(newLog(out, cfg.LogFormat, worker))
	if p.exposed != nil {
		slog.Warn("other programs of this user can see secrets", "error", p.exposed)
	}
}
