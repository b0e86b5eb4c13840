package supervise

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

func TestCrashedWorkerIsReplacedAndItsQueueAnswered(t *testing.T) {
	s := startSale(t, 1, time.Second, play{})
	watch, err := net.Dial("tcp", s.address)
	testkit.Must(t, err)
	defer watch.Close()
	fmt.Fprint(watch, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	reader := bufio.NewReader(watch)
	if status, err := reader.ReadString('\n'); status != "HTTP/1.1 200 OK\r\n" {
		t.Fatalf("status %q, %v", status, err)
	}
	killed := s.last(0)
	kill(t, killed)
	// The connection ends with the worker, so from here on no process accepts until the next worker starts.
	for err == nil {
		_, err = reader.ReadByte()
	}
	if got := s.mustAsk(newcomer()); got.process == killed || got.slot != 0 {
		t.Errorf("answer %+v after kill of process %d", got, killed)
	}
	testkit.Until(t, "second start", func() bool { return len(s.started()) == 2 })
}

func TestCrashLeavesOtherWorkersAlone(t *testing.T) {
	s := startSale(t, 2, time.Second, play{})
	other := s.regularOf(1)
	before := s.mustAsk(other)
	killed := s.last(0)
	kill(t, killed)
	testkit.Until(t, "restart", func() bool {
		if got := s.mustAsk(other); got != before {
			t.Fatalf("the other worker answered %+v, before the crash %+v", got, before)
		}
		return s.last(0) != killed
	})
	if got, want := s.mustAsk(s.regularOf(0)).process, s.last(0); got != want {
		t.Errorf("slot 0 is served by process %d, want %d", got, want)
	}
	if list := s.started(); len(list) != 3 {
		t.Errorf("%d workers were started, want 3", len(list))
	}
}

// listening returns the number of sockets that listen on the port of address.
func listening(t *testing.T, address string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	testkit.Must(t, err)
	number, err := strconv.Atoi(port)
	testkit.Must(t, err)
	table, err := os.ReadFile("/proc/net/tcp")
	testkit.Must(t, err)
	const stateListen = "0A"
	count := 0
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", number)) && fields[3] == stateListen {
			count++
		}
	}
	return count
}

func TestSlotInALongBackoffGetsNoConnections(t *testing.T) {
	s := startSale(t, 2, time.Second, play{})
	// Delays of 100, 200, 400, 800 ms and so on: the first above half a second closes the socket. A slow
	// machine may miss that and see a longer one.
	for crashes, closed := 1, false; !closed; crashes++ {
		if crashes > 7 {
			t.Fatal("no back-off closes the socket")
		}
		killed := s.last(0)
		kill(t, killed)
		testkit.Until(t, "closed socket, or restart", func() bool {
			closed = listening(t, s.address) == 1
			return closed || s.last(0) != killed
		})
	}
	during := true // the last connection was made during the back-off
	client := newcomer()
	client.Transport.(*http.Transport).DialContext = func(
		ctx context.Context, network, address string,
	) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		during = listening(t, s.address) == 1
		return c, err
	}
	for range 32 {
		got := s.mustAsk(client)
		if !during {
			break // the machine is slow
		}
		if got.slot != 1 {
			t.Fatalf("answer %+v while slot 0 is in its back-off", got)
		}
	}
	testkit.Until(t, "return of slot 0", func() bool { return s.mustAsk(newcomer()).slot == 0 })
	if got := listening(t, s.address); got != 2 {
		t.Errorf("%d sockets listen, want 2", got)
	}
}
