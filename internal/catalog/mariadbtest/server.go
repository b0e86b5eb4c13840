// Package mariadbtest runs a private MariaDB server for tests. It is slow to start (one to three
// seconds), so a package starts one for all its cases. It must not be used outside tests: nothing on it
// survives.
package mariadbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	startTimeout  = 60 * time.Second
	pollInterval  = 20 * time.Millisecond
	startAttempts = 3 // another process may take the port between its choice and the server's bind
)

// Server is a running server with one account that may do everything. It has no databases of its own.
type Server struct {
	Host           string
	Port           int
	User, Password string

	folder    string
	arguments []string
	daemon    *child
}

// Start runs a server on a port of 127.0.0.1 until tb and its subtests are over, and never longer than
// this process. Where mariadbd is not installed it skips tb, or fails it if REQUIRE_REAL=1 is set.
// arguments are added to its command line; by default a commit is not on disk yet when it is answered.
func Start(tb testing.TB, arguments ...string) *Server {
	tb.Helper()
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(tb, program)
		}
	}
	folder, err := os.MkdirTemp("", "maria") // not tb.TempDir: a unix socket's path has at most 107 bytes
	if err != nil {
		tb.Fatalf("cannot create folder for mariadbd: %v", err)
	}
	tb.Cleanup(func() { os.RemoveAll(folder) })
	if err := install(tb.Context(), folder); err != nil {
		tb.Fatal(err)
	}
	for range startAttempts {
		server := &Server{Host: "127.0.0.1", User: "root", Password: "toor", folder: folder, arguments: arguments}
		if server.Port, err = freePort(); err != nil {
			continue
		}
		if server.daemon, err = server.launch(tb.Context(), folder); err == nil {
			tb.Cleanup(server.Kill)
			return server
		}
	}
	tb.Fatalf("cannot start mariadbd: %v", err)
	return nil
}

// Kill ends the server at once, as kill -9 does.
func (s *Server) Kill() { s.daemon.kill() }

// Freeze stops the server without ending it, as an overloaded machine would; Thaw lets it go on.
func (s *Server) Freeze() { _ = s.daemon.process.Signal(syscall.SIGSTOP) } // fails only if it is gone

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { _ = s.daemon.process.Signal(syscall.SIGCONT) }

// Restart starts a killed server again, on the same port and folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	daemon, err := s.launch(tb.Context(), s.folder)
	if err != nil {
		tb.Fatalf("cannot start mariadbd again: %v", err)
	}
	s.daemon = daemon
}

func missing(tb testing.TB, program string) {
	tb.Helper()
	if os.Getenv("REQUIRE_REAL") == "1" {
		tb.Fatalf("%s is not on PATH; install mariadb-server or add /usr/sbin to PATH", program)
	}
	tb.Skipf("%s is not on PATH; to run this test install mariadb-server or add /usr/sbin to PATH", program)
}

// Open connects to a new, empty database of this name, which must be a plain identifier.
func (s *Server) Open(tb testing.TB, name string) *sql.DB {
	tb.Helper()
	admin := s.connect("")
	defer admin.Close()
	if _, err := admin.ExecContext(tb.Context(), "CREATE DATABASE `"+name+"`"); err != nil {
		tb.Fatalf("cannot create database %s: %v", name, err)
	}
	db := s.connect(name)
	tb.Cleanup(func() { db.Close() })
	return db
}

func (s *Server) connect(name string) *sql.DB {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	cfg.DBName, cfg.User, cfg.Passwd = name, s.User, s.Password
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = startTimeout, startTimeout, startTimeout
	cfg.Logger = &mysql.NopLogger{} // it would tell of every attempt before the server is up
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		panic(err) // all of cfg is written above
	}
	return sql.OpenDB(connector)
}

// install fills folder with the system tables and the statements that make the account.
func install(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	arguments := append([]string{"--no-defaults", "--datadir=" + filepath.Join(folder, "data"),
		"--skip-test-db", "--auth-root-authentication-method=normal"}, account()...)
	runtime.LockOSThread() // the thread must outlive the child: see startChild
	defer runtime.UnlockOSThread()
	command := exec.CommandContext(ctx, "mariadb-install-db", arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.WaitDelay = time.Second // a grandchild may keep the output open
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run mariadb-install-db: %w\n%s", err, output)
	}
	const statements = "CREATE OR REPLACE USER root@'127.0.0.1' IDENTIFIED BY 'toor';\n" +
		"GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n" +
		"DROP USER IF EXISTS root@localhost;\n"
	return os.WriteFile(filepath.Join(folder, "account.sql"), []byte(statements), 0o600)
}

// account names the user to run as where the server would refuse to run as root. It stays root: a change
// of user would clear the death signal of the child.
func account() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// launch starts mariadbd and waits until it answers.
func (s *Server) launch(ctx context.Context, folder string) (*child, error) {
	arguments := append([]string{"--no-defaults", "--datadir=" + filepath.Join(folder, "data"),
		"--socket=" + filepath.Join(folder, "s"), "--pid-file=" + filepath.Join(folder, "pid"),
		"--init-file=" + filepath.Join(folder, "account.sql"),
		"--bind-address=" + s.Host, "--port=" + strconv.Itoa(s.Port), "--skip-name-resolve",
		"--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0"},
		append(account(), s.arguments...)...)
	daemon, err := startChild("mariadbd", arguments)
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, daemon, filepath.Join(folder, "s")); err != nil {
		daemon.kill()
		return nil, fmt.Errorf("%w\n%s", err, daemon.output.Bytes())
	}
	return daemon, nil
}

// await returns once the server with this socket answers: another one may have taken the port, with the
// same account.
func (s *Server) await(ctx context.Context, daemon *child, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	db := s.connect("")
	defer db.Close()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		var answering string
		err := db.QueryRowContext(ctx, "SELECT @@socket").Scan(&answering)
		if err == nil && answering != socket {
			return fmt.Errorf("port %d belongs to the server of %s", s.Port, answering)
		}
		if err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-daemon.done:
			return errors.New("mariadbd ended at once")
		case <-ctx.Done():
			return fmt.Errorf("mariadbd does not answer: %w", err)
		}
	}
}

// child is a process that dies with this one.
type child struct {
	process *os.Process
	done    chan struct{} // closed once the process is gone
	output  bytes.Buffer  // complete once done is closed
}

func startChild(program string, arguments []string) (*child, error) {
	c := &child{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux sends the death signal when the thread that made the child ends, not the process: this
		// goroutine keeps its thread until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.done)
		command := exec.Command(program, arguments...)
		command.Stdout, command.Stderr = &c.output, &c.output
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		err := command.Start()
		c.process = command.Process
		started <- err
		if err == nil {
			_ = command.Wait() // killed, always
		}
	}()
	return c, <-started
}

// kill ends the child and waits until it is gone.
func (c *child) kill() {
	_ = c.process.Kill() // fails only if it is gone already
	<-c.done
}
