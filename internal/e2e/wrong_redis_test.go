package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// checkEmpty fails when something was put into a Redis.
func checkEmpty(t *testing.T, redis *redistest.Server) {
	t.Helper()
	if keys := redis.Do(t, "DBSIZE"); keys != ":0" {
		t.Errorf("%s keys were put into Redis", keys)
	}
}

// A server that forgets its Redis, or is given another one, does not open a second sale, and its folder
// still knows the first.
func TestForgottenRedisIsRefused(t *testing.T) {
	t.Parallel()
	redis, other := redistest.New(t), redistest.New(t)
	args := []string{"-users", "2", "-workers", "1"}
	first := setup{args: append(args, "-redis", redis.Socket)}.serve(t)
	first.End(t)
	sale, data := first.Sale(t), first.Data
	memory := filepath.Join(data, "sale")
	cure := fmt.Sprintf("this folder served sale %s from %s; set REDIS_HOST, or delete %s for a new sale", sale,
		redis.Socket, memory)

	checkRefused(t, setup{data: data, args: args}.launch(t).Process, cure)
	if _, err := os.Stat(filepath.Join(data, "appendonlydir")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store was started: %v", err)
	}
	checkRefused(t, setup{data: data, args: append(args, "-redis", other.Socket)}.launch(t).Process,
		"redis holds no sale: "+other.Socket+"; "+cure)
	checkEmpty(t, other)
	setup{args: append(args, "-redis", other.Socket)}.serve(t).End(t)
	refused := setup{data: data, args: append(args, "-redis", other.Socket)}.launch(t)
	if code := refused.ExitCode(t); code != 1 || refused.Logged(t, "redis holds another sale: ") != 1 ||
		refused.Logged(t, cure) != 1 {
		t.Errorf("exit code %d, %q; want 1 and %q", code, testkit.ReadFile(t, refused.Log), cure)
	}
	if got, want := testkit.ReadFile(t, memory), sale+" "+redis.Socket+"\n"; got != want {
		t.Errorf("the folder remembers %q, want %q", got, want)
	}

	// The same Redis under another address is the same sale.
	alias := filepath.Join(testkit.Folder(t), "alias")
	testkit.Must(t, os.Symlink(redis.Socket, alias))
	again := setup{data: data, args: append(args, "-redis", alias)}.serve(t)
	if want := sale + ", goes on"; again.Banner(t, "sale") != want {
		t.Errorf("sale %q, want %q", again.Banner(t, "sale"), want)
	}
	if got, want := testkit.ReadFile(t, memory), sale+" "+alias+"\n"; got != want {
		t.Errorf("the folder remembers %q, want %q", got, want)
	}
}

// The other way round: the folder holds a sale in its own store.
func TestRedisInsteadOfOwnStoreIsRefused(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	redis := redistest.New(t)
	args := []string{"-users", "2", "-workers", "1"}
	first := setup{args: args}.serve(t)
	first.End(t)
	elsewhere := setup{data: first.Data, args: append(args, "-redis", redis.Socket)}.launch(t)
	checkRefused(t, elsewhere.Process, fmt.Sprintf(
		"redis holds no sale: %s; this folder served sale %s from %s/redis.sock; "+
			"start without REDIS_HOST, or delete %[3]s/sale for a new sale",
		redis.Socket, first.Sale(t), first.Data))
	checkEmpty(t, redis)
	again := setup{data: first.Data, args: args}.serve(t)
	if want := first.Sale(t) + ", goes on"; again.Banner(t, "sale") != want {
		t.Errorf("sale %q, want %q", again.Banner(t, "sale"), want)
	}
}

// -sale joins that sale and no other, and does not open a sale.
func TestNamedSale(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	join := func(id string) setup {
		s := setup{args: []string{"-users", "2", "-workers", "1", "-redis", redis.Socket},
			env: []string{"TOKEN_SECRET=" + sharedSecret}}
		if id != "" {
			s.env = append(s.env, "SALE="+id)
		}
		return s
	}
	const cure = "; name the sale that is there, or the Redis that holds this one (REDIS_HOST), " +
		"or leave -sale out to join or open any"
	checkRefused(t, join("abcdefgh").launch(t).Process,
		"-sale (SALE) is abcdefgh: redis holds no sale: "+redis.Socket+cure)
	checkEmpty(t, redis)
	first := join("").serve(t)
	refused := join("abcdefgh")
	refused.env = append(refused.env, "ROOT_PASSWORD="+rootPassword)
	checkRefused(t, refused.launch(t).Process,
		"-sale (SALE) is abcdefgh: redis holds another sale: "+first.Sale(t)+" at "+redis.Socket+cure)
	if second := join(first.Sale(t)).serve(t); second.Banner(t, "sale") != first.Sale(t)+", goes on" {
		t.Errorf("sale %q, want %s", second.Banner(t, "sale"), first.Sale(t))
	}
}

// Two servers must not share a folder, whichever Redis they use.
func TestFolderIsLockedWithAnyRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-users", "2", "-workers", "1", "-redis", redis.Socket}
	first := setup{args: args}.serve(t)
	want := fmt.Sprintf("data folder %s is in use by process %d; stop it or choose another with -data",
		first.Data, first.Pid())
	checkRefused(t, setup{data: first.Data, args: args}.launch(t).Process, want)
	checkRefused(t, setup{data: first.Data, args: args[:4]}.launch(t).Process, want) // with its own store
	testkit.Must(t, first.root(t).Call("GET", "/orders", "", nil))
	kill(t, first.Pid())
	first.ExitCode(t)
	setup{data: first.Data, args: args}.serve(t)
}

// What others can reach and must not is warned of: built-in users, and profiles.
func TestExposedIsWarnedOf(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	const (
		users    = "anyone who reaches this server can log in as any buyer"
		profiles = "anyone who reaches the profiles"
	)
	dir := catalogue(t, "1,root,r\n2,ann,a\n", "1,1,1\n")
	port, err := launch.FreePort()
	testkit.Must(t, err)
	for args, want := range map[string][2]int{
		fmt.Sprintf("-users 2 -app-host 0.0.0.0 -pprof :%d", port): {1, 1},
		fmt.Sprintf("-users 2 -pprof localhost:%d", port):          {0, 0},
		"-app-host 0.0.0.0 -catalog-dir " + dir:                    {0, 0},
	} {
		redis.Flush(t)
		s := setup{args: append(strings.Fields(args), "-workers", "1", "-redis", redis.Socket)}.serve(t)
		if got := [2]int{s.Logged(t, users), s.Logged(t, profiles)}; got != want {
			t.Errorf("%s: of users and profiles is warned %v times, want %v", args, got, want)
		}
		s.End(t)
	}
}
