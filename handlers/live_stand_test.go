package handlers

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/live"
	"flashsale/internal/testkit"
)

// liveShop is a shop of the same sale with a live view, and its address.
func (s *shop) liveShop(t *testing.T, viewersMax int, change func(*Config)) (*shop, string) {
	t.Helper()
	memory, err := figures.New(1)
	testkit.Must(t, err)
	t.Cleanup(func() { memory.File().Close() })
	worker, err := figures.Join(memory.File(), 0)
	testkit.Must(t, err)
	t.Cleanup(worker.Leave)
	var with *shop
	keeper := live.NewKeeper(live.KeeperConfig{Redis: s.redis.Room(live.HashTag), Figures: memory,
		Sale: s.cfg.Sale.ID(), Server: "a"})
	testkit.Must(t, keeper.Prepare(t.Context()))
	testkit.Background(t, keeper.Run)
	hub, err := live.New(live.Config{Board: memory.Board(), SaleID: s.cfg.Sale.ID(), Own: worker,
		ViewersMax: viewersMax, Sale: func() []byte { return with.SaleBody() },
		Look: func() live.State { return live.State{Up: true} },
		Top:  func() []byte { return []byte(`[{"key":"k","hits":3}]`) }})
	testkit.Must(t, err)
	with = s.twin(func(cfg *Config) {
		cfg.Figures, cfg.ServiceToken = worker, serviceToken
		if change != nil {
			change(cfg)
		}
	}, Live(hub))
	with.keys, with.hub = s.keys, hub
	with.Publish(snapshotOf([]int64{9, 8, 7, 6, 5}))
	hub.PublishStock([]int64{9, 8, 7, 6, 5})
	testkit.Background(t, hub.Run)
	return with, with.listen(t)
}

// stream is a viewer's connection.
type stream struct {
	*testing.T
	net.Conn
	*http.Response
	head   string
	reader *bufio.Reader
}

// watch sends a request and reads the head of the reply.
func watch(t *testing.T, address string, encryption *tls.Config, request string) *stream {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil && encryption != nil {
		c = tls.Client(c, encryption)
	}
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(testkit.Patience))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	all, head := bufio.NewReader(c), ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := all.ReadString('\n')
		if err != nil {
			t.Fatalf("%v behind %q", err, head)
		}
		head += line
	}
	r, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(head), all)), nil)
	testkit.Must(t, err)
	return &stream{t, c, r, head, bufio.NewReader(r.Body)}
}

// next reads an event; name is the first line where that is none.
func (s *stream) next() (name, data string) {
	s.Helper()
	var lines []string
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			s.Fatalf("%v behind %q", err, lines)
		}
		if line == "\n" {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "id: ") {
		return lines[0], ""
	}
	name, data = strings.TrimPrefix(lines[0], "event: "), strings.TrimPrefix(lines[2], "data: ")
	if err := readDescription(s).CheckEvent("/live", name, data); err != nil {
		s.Error(err)
	}
	return name, data
}

// want reads events, each of which must match, until one of each name has come.
func (s *stream) want(events map[string]string) {
	s.Helper()
	for seen := map[string]bool{}; len(seen) < len(events); {
		name, data := s.next()
		if pattern, ok := events[name]; ok {
			seen[name] = true
			if !regexp.MustCompile("^" + pattern + "$").MatchString(data) {
				s.Errorf("event %s: %s, want %s", name, data, pattern)
			}
		}
	}
}

const liveGet = "GET /live HTTP/1.1\r\nHost: shop\r\n"
