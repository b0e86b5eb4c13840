package launch

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"flashsale/internal/testkit"
)

// MariaDB is a running server with one account that may do everything. It has no databases of its own. It
// starts slowly, in one to three seconds, so a package starts one for all its tests.
type MariaDB struct {
	Host           string
	Port           int
	User, Password string

	folder    string
	arguments []string
	process   *Process
}

// StartMariaDB runs a server on a port of 127.0.0.1 until tb and its subtests are over, and never longer
// than this process. Without mariadbd it skips tb, or fails it with REQUIRE_REAL=1. arguments are added to
// its command line; by default the server answers a commit before it is on disk.
func StartMariaDB(tb testing.TB, arguments ...string) *MariaDB {
	tb.Helper()
	needMariaDB(tb)
	s, err := RunMariaDB(tb.Context(), testkit.Folder(tb), arguments...)
	testkit.Must(tb, err)
	tb.Cleanup(s.Kill)
	return s
}

// RunMariaDB is StartMariaDB for a program: its data lies in an empty folder, and the caller kills it.
func RunMariaDB(ctx context.Context, folder string, arguments ...string) (s *MariaDB, err error) {
	s = &MariaDB{Host: "127.0.0.1", User: "root", Password: "toor", folder: folder, arguments: arguments}
	if err := s.install(); err != nil {
		return nil, err
	}
	if s.Port, err = FreePort(); err == nil {
		err = s.Launch(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start mariadbd: %w", err)
	}
	return s, nil
}

// needMariaDB looks for the programs, which Debian has in /usr/sbin.
func needMariaDB(tb testing.TB) {
	tb.Helper()
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		testkit.Need(tb, program)
	}
}

// Kill ends the server at once, as kill -9 does.
func (s *MariaDB) Kill() { s.process.Kill() }

// Freeze stops the server without ending it, as an overloaded machine would; Thaw lets it go on.
// cannot fail: it is this process's child
func (s *MariaDB) Freeze() { _ = s.process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *MariaDB) Thaw() { _ = s.process.Signal(syscall.SIGCONT) }

// Restart starts a killed server again, on the same port and folder.
func (s *MariaDB) Restart(tb testing.TB) {
	tb.Helper()
	testkit.Must(tb, s.Launch(tb.Context()))
}

// Open connects to a new, empty database of this name, which must be a plain identifier.
func (s *MariaDB) Open(tb testing.TB, name string) *sql.DB {
	tb.Helper()
	testkit.Must(tb, s.Create(tb.Context(), name))
	db := s.connect(name)
	tb.Cleanup(func() { db.Close() })
	return db
}

// Create makes a new, empty database of this name, which must be a plain identifier.
func (s *MariaDB) Create(ctx context.Context, name string) error {
	admin := s.connect("")
	defer admin.Close()
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE `"+name+"`"); err != nil {
		return fmt.Errorf("cannot create database %s: %w", name, err)
	}
	return nil
}

func (s *MariaDB) connect(name string) *sql.DB {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	cfg.DBName, cfg.User, cfg.Passwd = name, s.User, s.Password
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = startMax, startMax, startMax
	cfg.Logger = &mysql.NopLogger{} // the driver would log every attempt before the server is up
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		panic(err) // only a wrong cfg fails
	}
	return sql.OpenDB(connector)
}

// install fills the folder with the system tables and the statements that make the account.
func (s *MariaDB) install() error {
	arguments := append([]string{"--no-defaults", "--datadir=" + filepath.Join(s.folder, "data"),
		"--skip-test-db", "--auth-root-authentication-method=normal"}, account()...)
	log := filepath.Join(s.folder, "install.log")
	run, err := Program{Path: "mariadb-install-db", Args: arguments, Env: s.env(), Log: log}.Start()
	if err != nil {
		return err
	}
	ended := func() bool { return !run.Running() }
	err = testkit.Await(context.Background(), "end of mariadb-install-db", startMax, ended)
	if err != nil || !run.State().Success() {
		run.Kill()
		text, _ := os.ReadFile(log) // only for the message
		return fmt.Errorf("cannot run mariadb-install-db: %v %v\n%s", err, run.State(), text)
	}
	const statements = "CREATE OR REPLACE USER root@'127.0.0.1' IDENTIFIED BY 'toor';\n" +
		"GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n" +
		"DROP USER IF EXISTS root@localhost;\n"
	return os.WriteFile(filepath.Join(s.folder, "account.sql"), []byte(statements), 0o600)
}

// env gives the server a folder for its temporary files: a starting server removes the files of others from
// a shared folder.
func (s *MariaDB) env() []string { return []string{"TMPDIR=" + s.folder} }

// account names root as the user, because the server refuses to run as root unasked. Another user would not
// do: that change would clear the signal that ends the server with this process.
func account() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// Launch starts mariadbd, also again after Kill, and returns when it answers.
func (s *MariaDB) Launch(ctx context.Context) (err error) {
	in := func(name string) string { return filepath.Join(s.folder, name) }
	s.process, err = Program{Path: "mariadbd", Env: s.env(), Log: in("log"), Args: append([]string{
		"--no-defaults",
		"--datadir=" + in("data"), "--socket=" + in("s"), "--pid-file=" + in("pid"),
		"--init-file=" + in("account.sql"),
		"--bind-address=" + s.Host, "--port=" + strconv.Itoa(s.Port), "--skip-name-resolve",
		"--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0"},
		append(account(), s.arguments...)...),
	}.Start()
	if err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// await returns once this server answers: another one may have taken the port, with the same account.
func (s *MariaDB) await(ctx context.Context) error {
	db := s.connect("")
	defer db.Close()
	var answering string
	err := s.process.Await(ctx, "answer of mariadbd", startMax, func() bool {
		return db.QueryRowContext(ctx, "SELECT @@socket").Scan(&answering) == nil
	})
	if err == nil && !strings.HasPrefix(answering, s.folder) {
		err = fmt.Errorf("port %d belongs to the server of %s", s.Port, answering)
	}
	return err
}
