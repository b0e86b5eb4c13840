package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// checkRefused expects a start to end with exit code 1 and the message as its only output.
func checkRefused(t *testing.T, p *launch.Process, message string) {
	t.Helper()
	if code := p.ExitCode(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if got, want := testkit.ReadFile(t, p.Stdout)+p.Warnings(t), "flashsale: "+message+"\n"; got != want {
		t.Errorf("output %q\nwant   %q", got, want)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	t.Parallel()
	port := launch.ClosedPort(t)
	closed := redistest.New(t)
	closed.Do(t, "CONFIG SET requirepass right")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer taken.Close()
	for _, test := range []struct {
		name, want string
		args, env  []string
	}{
		{
			name: "unknown flag", args: []string{"-nonsense"},
			want: "flag provided but not defined: -nonsense (-h lists all flags)",
		},
		{
			name: "wrong password for Redis", args: []string{"-redis", closed.Socket},
			env: []string{"REDIS_PASSWORD=wrong"},
			want: "cannot log in to Redis at " + closed.Socket + ": redis answers with an error: " +
				"WRONGPASS invalid username-password pair or user is disabled. " +
				"(check REDIS_PASSWORD and REDIS_USERNAME)",
		},
		{
			name: "no certificate", args: []string{"-tls-cert", "/nowhere", "-tls-key", "/nowhere", "-redis",
				redistest.Memory(t)},
			want: "cannot read certificate: open /nowhere: no such file or directory",
		},
		{
			name: "port of metrics", args: []string{"-ops", taken.Addr().String()},
			want: "cannot serve metrics (-ops): listen tcp4 " + taken.Addr().String() +
				": bind: address already in use",
		},
		{
			name: "unreachable database", env: []string{"DB_HOST=127.0.0.1", "DB_PORT=" + port},
			args: []string{"-redis", redistest.Memory(t)}, // no default store: the folder stays free
			want: fmt.Sprintf("cannot reach MySQL at 127.0.0.1:%s as root: "+
				"dial tcp 127.0.0.1:%[1]s: connect: connection refused", port),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkRefused(t, setup{env: test.env, args: test.args}.launch(t).Process, test.want)
		})
	}
}

// A server that refuses to start leaves no store behind: a sale can be opened in its folder.
func TestBadCatalogueIsRefused(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	dir := catalogue(t, "1,root,r\n", "1,10,3\n3,5,4\n")
	s := setup{args: []string{"-catalog-dir", dir}}.launch(t)
	checkRefused(t, s.Process, dir+"/foods.csv:3: food 3 is here but food 2 is missing; "+
		"number the foods from 1 without gaps")
	setup{data: s.Data, args: []string{"-users", "2", "-workers", "1"}}.serve(t).End(t)
}

func TestPortInUseIsRefused(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	other := setup{args: []string{"-users", "2"}}.serve(t)
	_, port, err := net.SplitHostPort(other.Address)
	testkit.Must(t, err)
	s := setup{args: []string{"-app-port", port}}.launch(t)
	checkRefused(t, s.Process, "cannot listen on "+other.Address+": another program uses that port; "+
		"stop it or choose another with -app-port (APP_PORT)")
	// A server that cannot serve must not have opened a sale.
	if _, err := os.Stat(filepath.Join(s.Data, "sale")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a sale was opened: %v", err)
	}
	if err := other.root(t).Call("GET", "/orders", "", nil); err != nil {
		t.Errorf("the server that has the port: %v", err)
	}
}

// The banner names what a crash of an external Redis may lose. -require-durable accepts no loss.
func TestDurability(t *testing.T) {
	t.Parallel()
	weak, full := redistest.New(t), redistest.New(t, "--appendonly", "yes", "--appendfsync", "always",
		"--aof-load-truncated", "no")
	const (
		loss = "it keeps nothing on disk: a crash loses every order"
		none = "appendfsync always: a crash loses no order that was answered"
	)
	checkRefused(t, setup{args: []string{"-redis", weak.Socket, "-require-durable"}}.launch(t).Process,
		"-require-durable: Redis at "+weak.Socket+": "+loss)
	checkRefused(t, setup{args: []string{"-require-durable"}, env: []string{"PATH="}}.launch(t).Process,
		"-require-durable: there is no redis-server on PATH, "+
			"and what is kept in memory is lost at a restart; install redis-server")
	for redis, want := range map[*redistest.Server]string{weak: loss, full: none} {
		args := []string{"-redis", redis.Socket, "-users", "2"}
		if redis == full {
			args = append(args, "-require-durable")
		}
		s := setup{args: args}.serve(t)
		if line := "Redis at " + redis.Socket + "; " + want; s.Banner(t, "store") != line {
			t.Errorf("store %q, want %q", s.Banner(t, "store"), line)
		}
	}
}

// newSale is the advice of a server with an external Redis for a new sale, if its folder remembers no sale.
const newSale = "use an empty Redis database (or delete the keys " + redisx.SaleKeys + " in this one)"

// catalogue writes users.csv and foods.csv with these rows.
func catalogue(t *testing.T, users, foods string) (dir string) {
	t.Helper()
	dir = testkit.Folder(t)
	testkit.WriteFile(t, filepath.Join(dir, "users.csv"), "id,name,password\n"+users)
	testkit.WriteFile(t, filepath.Join(dir, "foods.csv"), "id,stock,price\n"+foods)
	return dir
}

// A Redis that has lost its data while the server was down is not given a second sale by the next start.
func TestLostSaleIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-redis", redis.Socket, "-users", "2"}
	first := setup{args: args}.serve(t)
	first.Send(t, syscall.SIGTERM)
	if code := first.ExitCode(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	redis.Flush(t)
	again := setup{data: first.Data, args: args}.launch(t)
	checkRefused(t, again.Process, "redis has lost the sale "+first.Sale(t)+" that was served from "+
		redis.Socket+
		"; restore its data, or for a new sale "+newSale+" and delete "+first.Data+"/sale")
	if keys := redis.Do(t, "DBSIZE"); keys != ":0" {
		t.Errorf("%s keys were put into Redis", keys)
	}
	testkit.Must(t, os.Remove(filepath.Join(first.Data, "sale")))
	setup{data: first.Data, args: args}.serve(t)
}
