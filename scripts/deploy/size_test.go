package deploy

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// TestSizeInRedis measures what an order and a cart take in Redis and holds the guide to it.
func TestSizeInRedis(t *testing.T) {
	const buyers, atOnce = 10_000, 8
	redis := redistest.New(t, "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")
	host := newNetwork() + "1"
	// Keys of statistics and rate limits are no part of an order.
	newServer(t, redis.Socket, host, "-traffic", "off", "-limits", "off")
	empty := measure(t, redis)
	sale := func(buy bool) {
		var group sync.WaitGroup
		for first := range atOnce {
			group.Go(func() {
				b := &client.Client{Address: host + ":8080"}
				defer b.HangUp()
				for user := 2 + first; user <= buyers; user += atOnce {
					if err := visit(b, user, buy); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	sale(true)
	ordered := measure(t, redis)
	sale(false)
	carted := measure(t, redis)
	if t.Failed() {
		return
	}
	per := func(from, to int) int { return (to - from) / (buyers - 1) }
	guide := testkit.ReadFile(t, "README.md")
	for _, figure := range []struct {
		what     string
		measured int
		pattern  string // with the guide's figure, an upper bound
	}{
		{"memory of an order", per(empty.memory, ordered.memory), `an order takes (\d+) bytes of memory`},
		{"disk of an order", per(empty.disk, ordered.disk), `and (\d+) bytes of the append-only file`},
		{"memory of a cart", per(ordered.memory, carted.memory), `A cart takes (\d+) bytes`},
	} {
		t.Logf("%s: %d bytes", figure.what, figure.measured)
		found := regexp.MustCompile(figure.pattern).FindStringSubmatch(strings.Join(strings.Fields(guide), " "))
		if found == nil {
			t.Errorf("the guide does not tell the %s", figure.what)
			continue
		}
		if bound, _ := strconv.Atoi(found[1]); figure.measured > bound || figure.measured < bound/2 {
			t.Errorf("%s is %d bytes, the guide says %d", figure.what, figure.measured, bound)
		}
	}
}

// visit fills a cart with three foods and, where buy is set, orders it.
func visit(b *client.Client, user int, buy bool) error {
	if err := b.LoginUser(user); err != nil {
		return err
	}
	cart, err := b.Fill(client.Pieces(1+user%97, 1), client.Pieces(2+user%97, 1), client.Pieces(3+user%97, 1))
	if err == nil && buy {
		_, err = b.Order(cart)
	}
	return err
}

// size is what Redis holds, in bytes.
type size struct{ memory, disk int }

func measure(t *testing.T, redis *redistest.Server) (s size) {
	t.Helper()
	info := redisInfo(t, "-s", redis.Socket)
	// The buffers of connections and of the log are no part of an order.
	s.memory = info["used_memory"] - info["mem_clients_normal"] - info["mem_aof_buffer"]
	s.disk = info["aof_current_size"]
	return s
}

// redisInfo is what INFO says in numbers; args tell redis-cli which Redis to ask.
func redisInfo(t *testing.T, args ...string) map[string]int {
	t.Helper()
	fields := map[string]int{}
	command := append([]string{testkit.Need(t, "redis-cli")}, args...)
	out := run(t, ".", nil, append(command, "INFO")...)
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if number, err := strconv.Atoi(value); err == nil {
			fields[name] = number
		}
	}
	return fields
}
