package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

const (
	booksName = "ledger" // of the database
	// what MariaDB has committed it keeps, also when it is killed
	booksDurable = "--innodb-flush-log-at-trx-commit=1"
)

// books is a MariaDB with the database of the ledger.
type books struct{ *launch.MariaDB }

// openBooks starts MariaDB with an empty database, in a folder of its own.
func openBooks(ctx context.Context, folder string) (*books, error) {
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: %s is missing", errImpossible, program)
		}
	}
	folder = filepath.Join(folder, "mariadb")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	server, err := launch.RunMariaDB(ctx, folder, booksDurable)
	if err != nil {
		return nil, err
	}
	return &books{server}, server.Create(ctx, booksName)
}

// source is the servers' -ledger.
func (b *books) source() string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", b.User, b.Password, net.JoinHostPort(b.Host, strconv.Itoa(b.Port)),
		booksName)
}

// booksAway kills the database, once it has messages, and starts it again.
func booksAway(ctx context.Context, s *stack, _ *rand.Rand) error {
	p := s.alarms.prometheus
	if err := s.alarms.await(ctx, "message in the database", alertsMax, func() (bool, error) {
		found, err := p.query(ctx, "flashsale_ledger_messages_total > 0")
		return len(found) > 0, err
	}); err != nil {
		return err
	}
	s.books.Kill()
	background.Pause(ctx, s.lasting(10*time.Second, time.Minute))
	s.awaitAlert(ctx)
	return s.books.Launch(ctx)
}

// booksEqual is in the output of flashsale audit where the database has messages.
var booksEqual = regexp.MustCompile(`messages in the database +[1-9]`)

// audit lets flashsale audit compare Redis with the database, once all orders have had time to get there. A
// stack without a database has no books.
func (b *books) audit(ctx context.Context, s *stack) error {
	if b == nil {
		return nil
	}
	one := &s.servers[0].program
	var told []byte
	err := testkit.Await(ctx, "audit without differences", auditMax, func() bool {
		command := exec.CommandContext(ctx, one.Path, append([]string{"audit"}, one.Args...)...)
		command.Env = append(os.Environ(), one.Env...)
		var err error
		told, err = command.CombinedOutput()
		return err == nil
	})
	if err == nil && !booksEqual.Match(told) {
		err = fmt.Errorf("the database has no message, which proves nothing")
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, told)
	}
	return nil
}
