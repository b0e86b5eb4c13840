package launch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// ServerSource is the package of the server, for Build.
const ServerSource = "flashsale"

// Server is a flashsale server.
type Server struct {
	*Process
	Data    string // its data folder
	Address string // host:port, known once the banner is there
}

// AwaitBanner returns once the server has written its whole banner: then it serves.
func (s *Server) AwaitBanner(ctx context.Context) error {
	var banner string
	err := s.Await(ctx, "banner of the server", startMax, func() bool {
		text, _ := os.ReadFile(s.Stdout) // the file exists from the start on
		banner = string(text)
		return strings.Contains(banner, "\n  stop ") && strings.HasSuffix(banner, "\n")
	})
	if err != nil {
		return err
	}
	_, url, found := strings.Cut(banner, "://")
	if _, err := fmt.Sscan(url, &s.Address); !found || err != nil {
		return fmt.Errorf("no URL in the banner %q", banner)
	}
	return nil
}

// Workers are the server's processes that serve.
func (s *Server) Workers() []int { return s.children(ServerSource) }

// Stores are the server's own redis-server processes: at most one.
func (s *Server) Stores() []int { return s.children("redis-server") }

func (s *Server) children(program string) []int {
	pids, _ := proc.Children(s.Pid(), program) // without a process table there is no process
	return pids
}

// AwaitReady returns once a server of the sale answers /readyz with 200.
func AwaitReady(ctx context.Context, address string) error {
	c := client.Client{Address: address, Timeout: time.Second, NewConnections: true}
	return testkit.Await(ctx, "200 of /readyz of "+address, startMax, c.Ready)
}
